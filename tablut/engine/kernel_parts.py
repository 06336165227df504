"""Faster compilation of *parts*, the functions that kernels call.

numba assumes that Python may call any function. It therefore wraps each function for Python and for C, optimises it
fully and generates machine code, even if the function is only ever linked into another one, for which all of this is
repeated. Here, compiling a part produces a linked module on which only the cheap passes have run, which halves the
compilation time. Parts are cached on disk too, because kernels share most of them.

numba itself is not modified. Kernels and parts are compiled with subclasses of numba's dispatcher, compiler, code
libraries and typing context. A pass before lowering chooses the library that receives the code.
"""

from __future__ import annotations

import operator
import secrets
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from llvmlite.binding import parse_bitcode
from numba.core import event, ir, types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.ir_utils import get_definition, guard
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import AnnotateTypes, InlineOverloads, IRLegalization, NativeLowering, NopythonRewrites
from numba.core.typing.context import Context
from numba.core.untyped_passes import (
    ExtractByteCode,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    WithLifting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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
"""Passes that no kernel needs, such as those for closures, ``with`` blocks and array expressions."""


class _Identity(FunctionIdentity):
    """Identifier of a function in numba, including a number that is unique across processes."""

    _unique_ids = count(secrets.randbits(48))


_HASH: Final = hash(tuple(sorted(Flags.options)))
"""Common hash of all `_Flags`. numba's own hash also depends only on the option names, not on their values."""


class _Flags(Flags):
    """Compiler options of one function, cached because numba compares and hashes them whenever it types a call."""

    __slots__ = ("_all", "_seen")

    def values(self) -> dict[str, object]:
        """Return all options by name, whether or not they are set."""
        if getattr(self, "_seen", None) != self._values:
            self._all, self._seen = super().values(), dict(self._values)
        return self._all

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


_OPERATORS: Final = frozenset(filter(callable, vars(operator).values()))
_typed: Final[dict[Any, Any]] = {}


class _Typing(Context):
    """Typing context for kernels and parts that caches operators on numbers."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return a call's signature. For operators on numbers, the overloads are searched only once."""
        operation = func.typing_key if isinstance(func, types.functions.BaseFunction) else None
        numbers = all(isinstance(argument, (types.Number, types.Boolean)) for argument in args)
        if kws or not numbers or operation not in _OPERATORS:
            return super().resolve_function_type(func, args, kws)
        if (key := (operation, tuple(args))) not in _typed:
            signature = super().resolve_function_type(func, args, kws)
            _typed[key] = signature, func._impl_keys[signature.args]
        signature, implementation = _typed[key]
        func._impl_keys[signature.args] = implementation
        return signature


@cache
def _typing_of(context: Any) -> _Typing:
    """Return a `_Typing` that shares the entire state of a typing context."""
    view = object.__new__(_Typing)
    view.__dict__ = context.__dict__
    return view


class _WithoutEnvironment:
    """Code generator for a part, which does not set numba's environments, because a part has no machine code yet."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing, because the kernel that contains the part sets the environment."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


def _hide_foreign(library: Any) -> None:
    """Make functions of other packages private to the part or kernel that they are linked into.

    numba numbers these functions from 1 in each process, so the names in a shared cache could clash.
    """
    linked = (other for other in library._linking_libraries if not isinstance(other, _PartLibrary))
    foreign = {function.name for other in linked for function in other._get_module_for_linking().functions}
    for function in library._final_module.functions if foreign else ():
        if function.name in foreign and function.name.startswith("_ZN") and not function.is_declaration:
            function.linkage = "internal"


class _KernelLibrary(JITCodeLibrary):
    """Library for a kernel, which is called from Python."""

    def _optimize_final_module(self) -> None:
        _hide_foreign(self)
        super()._optimize_final_module()


class _PartLibrary(JITCodeLibrary):
    """Library for a part, which is only linked into other code."""

    @property
    def codegen(self) -> Any:
        """Code generator that does not set environments."""
        return _WithoutEnvironment(self._codegen)

    def finalize(self) -> None:
        """Link the functions that this part calls and run the passes that inline them, without generating code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        _hide_foreign(self)
        manager, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        manager.run(self._final_module, builder)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return 0, because Python cannot call a part."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """Return the library as bitcode, because there is no object code."""
        return self.serialize_using_bitcode()


class PartContext:
    """Target context for parts that are read from a cache file. Its libraries are used only for linking."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def codegen(self) -> Any:
        """Return this context itself, which creates the libraries."""
        return self

    def unserialize_library(self, content: tuple[str, str, bytes]) -> Any:
        """Return a library for linking, created from bitcode."""
        name, _kind, bitcode = content
        library = _PartLibrary(self._context.codegen(), name)
        library._final_module = parse_bitcode(bitcode)
        library._finalize_dynamic_globals()
        library._finalized = True
        return library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@register_pass(mutates_CFG=False, analysis_only=False)
class _DecideByType(FunctionPass):
    """Pass that replaces each call to a `by_type` predicate with its value, so that numba removes the dead branch."""

    _name = "tablut_decide_by_type"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        for block in function.blocks.values():
            for assigned in block.find_insts(ir.Assign):
                if getattr(assigned.value, "op", "") != "call":
                    continue
                predicate = getattr(guard(get_definition, function, assigned.value.func), "value", None)
                decide = getattr(predicate, "decide_by_type", None)
                known = None if decide is None else _type_of(state, assigned.value.args[0])
                if decide is not None and known is not None:
                    assigned.value = ir.Const(decide(known), assigned.loc)
                    function._definitions[assigned.target.name] = [assigned.value]
        return True


def _type_of(state: Any, variable: Any) -> Any:
    """Return the type of an argument or of one of its (nested) fields, or None for other variables."""
    found = guard(get_definition, state.func_ir, variable)
    if isinstance(found, ir.Arg):
        return state.args[found.index]
    record = _type_of(state, found.value) if getattr(found, "op", "") == "getattr" else None
    return record.types[record.fields.index(found.attr)] if isinstance(record, types.NamedTuple) else None


@register_pass(mutates_CFG=False, analysis_only=False)
class _ChooseLibrary(LoweringPass):
    """Pass that chooses the library that receives the code."""

    _name = "tablut_choose_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = state.pipeline.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _SetEnvironments(LoweringPass):
    """Pass that sets the environments for the parts within a kernel. numba stores constants in these environments."""

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
    """Compiler without the numba passes that no kernel needs, and with the three additional passes defined above."""

    library: type

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)
        self.state.typingctx = _typing_of(self.state.typingctx)

    def compile_extra(self, func: Any) -> Any:
        """Compile a function under an identity that is unique across processes."""
        self.state.func_id = _Identity.from_function(func)
        ExtractByteCode().run_pass(self.state)
        self.state.lifted, self.state.lifted_from = (), None
        return self._compile_bytecode()

    def define_pipelines(self) -> list[Any]:
        """Return the pipelines of compiler passes."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [step for step in pipeline.passes if step[0] not in _UNUSED]
            pipeline.add_pass_after(_DecideByType, IRProcessing)
            pipeline.add_pass_after(_ChooseLibrary, IRLegalization)
            pipeline.add_pass_after(_SetEnvironments, NativeLowering)
            pipeline.finalize()
        return pipelines


class _PartCompiler(_Compiler):
    library = _PartLibrary


class _KernelCompiler(_Compiler):
    library = _KernelLibrary


class _Dispatcher(CPUDispatcher):
    """Dispatcher that omits numba's timing of each LLVM call, which is not used here."""

    def compile(self: Any, sig: Any) -> Any:
        """Load or compile the function for the given argument types, and return its entry point."""
        arguments, result = normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            if arguments in self.overloads:
                return self.overloads[arguments].entry_point
            found: Any = self._cache.load_overload(sig, self.targetctx)
            if found is not None:
                self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
                self.add_overload(found)
                return found.entry_point
            with event.trigger_event("numba:compile", {"dispatcher": self, "args": arguments, "return_type": result}):
                found = self._compiler.compile(arguments, result)
                self.add_overload(found)
            self._cache.save_overload(sig, found)
            return found.entry_point


def dispatcher_of(function: Callable[..., Any], *, whole: bool, **options: bool) -> Any:
    """Return the dispatcher for a kernel (``whole``) or a part."""
    options |= {"nopython": True, "boundscheck": False}
    return _Dispatcher(function, {}, options, pipeline_class=_KernelCompiler if whole else _PartCompiler)
