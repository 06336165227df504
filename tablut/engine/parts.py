"""Functions that kernels are made of: compiled as far as linking needs, and no further.

numba treats every function as one that Python may call: it wraps it for Python and for C,
optimises it fully and makes machine code of it, even if it is only ever linked into
another, where all of that is done again. Here a part ends as a linked module
on which the cheap passes have run; the full ones and the making of code are left
to the kernel that the part goes into. That halves the time to compile. A part is kept on
disk as well: kernels have most of theirs in common.

The hooks are numba's: a pass before lowering chooses the library that code is put into.
What numba does over and over to every function with the same result is done once here.
"""

from __future__ import annotations

import operator
import secrets
from itertools import count
from typing import Any, Final

from llvmlite.binding import ffi, parse_bitcode
from numba.core import ir, types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.ir_utils import get_definition, guard
from numba.core.typed_passes import AnnotateTypes, InlineOverloads, IRLegalization, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import (
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    WithLifting,
)

_UNUSED = {
    AnnotateTypes,
    InlineClosureLikes,
    InlineInlinables,
    InlineOverloads,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    NopythonRewrites,
    WithLifting,
}
"""Passes that no kernel needs: functions within functions, ``with``, functions inlined as Python, unrolled tuples,
whole arrays in one expression, types as a listing for people."""


# numba numbers the functions of a process, to tell apart those of equal names and types; parts come from several.
FunctionIdentity._unique_ids = count(secrets.randbits(48))

_HASH: Final = hash(tuple(sorted(Flags.options)))
"""The hash of all options: numba's is of their names alone."""


class _Flags(Flags):
    """The options of one function, which numba compares and hashes at every call that it types."""

    __slots__ = ("_all", "_seen")

    def values(self) -> dict[str, Any]:
        """Return all options by name, set or not."""
        if getattr(self, "_seen", None) != self._values:
            self._all, self._seen = super().values(), dict(self._values)
        return self._all

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


# Each function that is being compiled times, for nobody, each call of LLVM by those within it.
ffi.lib._lock._cblist.clear()


_numba_ir: Any = ir


def _variables(_self: Any, value: Any) -> list[Any]:
    """Return the variables of a part of an instruction; most parts are names, numbers or variables."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in (str, int, bool, type(None)):
        return []
    if isinstance(value, ir.Inst):
        return list(value.list_vars())
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [variable for item in inner for variable in _variables(_self, item)]


_numba_ir.Inst._rec_list_vars = _variables

_OPERATORS: Final = frozenset(filter(callable, vars(operator).values()))
_typed: Final[dict[Any, Any]] = {}
_Function: Any = types.functions.BaseFunction
_call_type: Final = _Function.get_call_type


def _type_once(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """Return the signature of a call; that of an operator on numbers is looked for once among its many versions."""
    key = context, function.typing_key, tuple(arguments)
    numbers = all(isinstance(argument, (types.Number, types.Boolean)) for argument in arguments)
    if keywords or not numbers or function.typing_key not in _OPERATORS:
        return _call_type(function, context, arguments, keywords)
    if key not in _typed:
        signature = _call_type(function, context, arguments, keywords)
        _typed[key] = signature, function._impl_keys[signature.args]
    signature, made = _typed[key]
    function._impl_keys[signature.args] = made
    return signature


_Function.get_call_type = _type_once


class _WithoutEnvironment:
    """The code generator of a part: it has no machine code yet, and no place for an environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the kernel that the part goes into sets it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class _PartLibrary(JITCodeLibrary):
    """Code that is only linked into other code."""

    @property
    def codegen(self) -> Any:
        """The code generator."""
        return _WithoutEnvironment(self._codegen)

    def finalize(self) -> None:
        """Link what this calls and run the passes that inline it; make no code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        manager, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        manager.run(self._final_module, builder)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return 0: Python cannot call it."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """Return it as bitcode: there is no object code."""
        return self.serialize_using_bitcode()


class PartContext:
    """numba's target as parts see it that are read from a file: what it makes of them is for linking."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def codegen(self) -> Any:
        """Return what makes libraries."""
        return self

    def unserialize_library(self, content: tuple[str, str, bytes]) -> Any:
        """Return a library for linking."""
        name, _kind, bitcode = content
        library = _PartLibrary(self._context.codegen(), name)
        library._final_module = parse_bitcode(bitcode)
        library._finalize_dynamic_globals()
        library._finalized = True
        return library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@register_pass(mutates_CFG=False, analysis_only=False)
class _AnswerByType(FunctionPass):
    """Puts an answer for each question that a type answers; numba then drops the branch that it rules out."""

    _name = "tablut_answer_by_type"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        for block in function.blocks.values():
            for assigned in block.find_insts(ir.Assign):
                if getattr(assigned.value, "op", "") != "call":
                    continue
                asked = getattr(guard(get_definition, function, assigned.value.func), "value", None)
                decide = getattr(asked, "answer_by_type", None)
                known = None if decide is None else _type_of(state, assigned.value.args[0])
                if decide is not None and known is not None:
                    assigned.value = ir.Const(decide(known), assigned.loc)
                    function._definitions[assigned.target.name] = [assigned.value]
        return True


def _type_of(state: Any, variable: Any) -> Any:
    """Return the type of an argument, or of a field of a record in one; None for anything else."""
    found = guard(get_definition, state.func_ir, variable)
    if isinstance(found, ir.Arg):
        return state.args[found.index]
    record = _type_of(state, found.value) if getattr(found, "op", "") == "getattr" else None
    return record.types[record.fields.index(found.attr)] if isinstance(record, types.NamedTuple) else None


@register_pass(mutates_CFG=False, analysis_only=False)
class _ForLinking(LoweringPass):
    """Puts the code into a library for linking."""

    _name = "tablut_for_linking"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _SetEnvironments(LoweringPass):
    """Gives the parts within a kernel their environments, in which numba keeps their constants."""

    _name = "tablut_set_environments"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    state.library.codegen.set_env(variable.name, environment)
        return True


class _Compiler(Compiler):
    """numba's, without the passes that no kernel needs, and with two of ours."""

    added: type
    after: type

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [step for step in pipeline.passes if step[0] not in _UNUSED]
            pipeline.add_pass_after(_AnswerByType, IRProcessing)
            pipeline.add_pass_after(self.added, self.after)
            pipeline.finalize()
        return pipelines


class PartCompiler(_Compiler):
    """For functions that kernels call: the library is chosen before lowering."""

    added, after = _ForLinking, IRLegalization


class KernelCompiler(_Compiler):
    """For functions that Python calls: environments are set after lowering."""

    added, after = _SetEnvironments, NativeLowering
