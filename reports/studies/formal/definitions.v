(* The sets of placements that the theorems count, for Tablut and its relatives, in the words of the rules.

   Every definition is a program that decides whether a placement has a property. No definition contains a formula for
   a number of placements. The other files derive the numbers, and nothing in them has to be trusted.

   The sets are those of the corrected bound (`tablut bounds`). A game can also end because a player has no legal move,
   because the king stands in an exit fort, or because white is encircled. The bound counts these placements as
   undecided, and so do these definitions. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- The contents of a cell -------------------------------------------------------------------------------------- *)

Inductive content := Empty | Black | White | King.

(* Technical: contents can be compared and listed, so that functions from cells to contents can be counted. *)
Definition same_content x y :=
  match x, y with Empty, Empty | Black, Black | White, White | King, King => true | _, _ => false end.
Lemma same_contentP : Equality.axiom same_content.
Proof. by case; case; constructor. Qed.
Canonical content_eqType := EqType content (EqMixin same_contentP).
Definition content_number x := match x with Empty => 0 | Black => 1 | White => 2 | King => 3 end.
Definition content_of_number m := match m with 0 => Empty | 1 => Black | 2 => White | _ => King end.
Lemma content_numberK : cancel content_number content_of_number.
Proof. by case. Qed.
Canonical content_choiceType := ChoiceType content (CanChoiceMixin content_numberK).
Canonical content_countType := CountType content (CanCountMixin content_numberK).
Lemma contents_complete : Finite.axiom [:: Empty; Black; White; King].
Proof. by case. Qed.
Canonical content_finType := FinType content (FinMixin contents_complete).

(* ---- A rule set -------------------------------------------------------------------------------------------------- *)

(* A rule set consists of the facts on which the sets of placements depend. A cell has the number file + side * rank,
   beginning with 0: a1 is 0, and b1 is 1. The generator copies these values from a variant file, whose fields are named
   in brackets. *)

Inductive sides := Two | Four.

Record ruleset := RuleSet {
  side : nat;                   (* number of cells along a side of the board *)
  castle : seq nat;             (* castle (T): one cell, or none on a board without a castle *)
  camps : seq nat;              (* all cells of camps (A, B, C, D) *)
  manned_camps : seq nat;       (* cells of those camps in which a black soldier starts *)
  corners : seq nat;            (* corners that only the king may enter (X) *)
  escapes : seq nat;            (* cells where the king wins (stars and X) *)
  king_start : nat;             (* cell of the king at the start *)
  black_men : nat;              (* number of black soldiers at the start *)
  white_men : nat;              (* number of white soldiers at the start, without the king *)
  king_passes_castle : bool;    (* the king may slide across the empty castle   [castle.pass is king or everyone] *)
  king_enters_castle : bool;    (* the king may end a move on the castle        [castle.stop is king] *)
  camps_hostile : bool;         (* camp cells are hostile to the king           [camps.hostile] *)
  corners_hostile : bool;       (* corners (X) are hostile to the king          [corners.hostile] *)
  king_armed : bool;            (* the king captures                            [king.armed] *)
  on_castle : sides;            (* sides that capture a king on the castle      [king.on_castle] *)
  beside_as_on_castle : bool;   (* a king beside the castle is captured like one on it  [king.beside_castle] *)
  elsewhere : sides             (* sides that capture a king elsewhere          [king.elsewhere] *)
}.

Section Rules.
Variable R : ruleset.

(* ---- The board --------------------------------------------------------------------------------------------------- *)

Definition cells := iota 0 (side R * side R).
Definition file (c : nat) := c %% side R.
Definition rank (c : nat) := c %/ side R.

Inductive direction := North | East | South | West.
Definition directions := [:: North; East; South; West].
Definition opposite d := match d with North => South | East => West | South => North | West => East end.

(* The neighbour of a cell in a direction, if it lies on the board. *)
Definition step (c : nat) (d : direction) : option nat :=
  match d with
  | North => if (rank c).+1 < side R then Some (c + side R) else None
  | East => if (file c).+1 < side R then Some c.+1 else None
  | South => if 0 < rank c then Some (c - side R) else None
  | West => if 0 < file c then Some c.-1 else None
  end.

Definition neighbours c := pmap (step c) directions.

(* The cells from a cell (without it) to the edge of the board, in a direction. *)
Fixpoint ray_of (many c : nat) (d : direction) : seq nat :=
  if many is m.+1 then (if step c d is Some c' then c' :: ray_of m c' d else [::]) else [::].
Definition ray := ray_of (side R).

(* ---- Where the pieces may stand ---------------------------------------------------------------------------------- *)

(* Soldiers never stand on the castle or on a corner of the king. White soldiers never enter a camp. Black soldiers do
   not enter a camp either, but they may start in one. *)
Definition open_cell c := [&& c \notin castle R, c \notin camps R & c \notin corners R].
Definition may_stand x c :=
  match x with Black => open_cell c || (c \in manned_camps R) | White => open_cell c | Empty | King => true end.

(* The cells on a ray where a king that is alone on the board may end its move. The king never enters a camp. *)
Fixpoint stops (way : seq nat) : seq nat :=
  if way is c :: rest then
    if c \in camps R then [::]
    else (if (c \in castle R) && ~~ king_enters_castle R then [::] else [:: c])
         ++ (if (c \in castle R) && ~~ king_passes_castle R then [::] else stops rest)
  else [::].

(* Targets of the king's moves that do not end the game, on a board without soldiers. *)
Definition king_moves c := [seq c' <- flatten [seq stops (ray c d) | d <- directions] | c' \notin escapes R].

(* Where the king may stand in an undecided game: the cells that it reaches from its start by such moves. *)
Inductive king_reaches : nat -> Prop :=
  | at_the_start : king_reaches (king_start R)
  | by_a_move c c' : king_reaches c -> c' \in king_moves c -> king_reaches c'.

(* The same cells as a list, found by a search. For each rule set, a theorem states that the list contains exactly the
   cells that the king reaches (`king_cells_reached`). *)
Fixpoint search (many : nat) (found : seq nat) : seq nat :=
  if many is m.+1 then
    let new := undup [seq c' <- flatten [seq king_moves c | c <- found] | c' \notin found] in
    if nilp new then found else search m (found ++ new)
  else found.
Definition king_cells := search (side R * side R) [:: king_start R].

(* ---- Placements -------------------------------------------------------------------------------------------------- *)

(* A placement is read as a function from cell numbers to contents. *)
Implicit Type p : nat -> content.

Definition number_of x p := count (fun c => p c == x) cells.

(* One king, no more soldiers than at the start, and every soldier where it may stand. *)
Definition placed p :=
  [&& number_of King p == 1, number_of Black p <= black_men R, number_of White p <= white_men R
    & all (fun c => may_stand (p c) c) cells].

(* The king stands on a cell with a given property. *)
Definition king_on (Q : nat -> bool) p := has (fun c => (p c == King) && Q c) cells.

(* ---- Undecided placements, and a set for each way to end a game -------------------------------------------------- *)

(* Nothing is required of the king's surroundings: whether a king has been captured depends on the last move. *)
Definition undecided p := [&& placed p, 0 < number_of Black p & king_on (mem king_cells) p].

Definition all_captured p := [&& placed p, number_of Black p == 0 & king_on (mem king_cells) p].

(* The king has just arrived along a ray, seen from its new cell: the ray is empty up to a cell where the king may have
   stood before. *)
Fixpoint arrived_by p (way : seq nat) : bool :=
  if way is c :: rest then
    (p c == Empty) && ((c \in king_cells) ||
      [&& c \notin camps R, (c \notin castle R) || king_passes_castle R & arrived_by p rest])
  else false.
Definition just_escaped p c := (c \in escapes R) && has (fun d => arrived_by p (ray c d)) directions.

Definition escaped p := [&& placed p, 0 < number_of Black p & king_on (just_escaped p) p].

(* The king's last move also captured the last black soldier, so the king must be armed. *)
Definition escaped_last p :=
  [&& king_armed R, placed p, number_of Black p == 0 & king_on (just_escaped p) p].

(* Capture of a king on the cell k. Hostile cells replace black soldiers. The castle is hostile only to a king beside
   it, and only if this king is captured like one on the castle. *)
Definition beside k := beside_as_on_castle R && has (mem (castle R)) (neighbours k).
Definition hostile k c :=
  [|| camps_hostile R && (c \in camps R), corners_hostile R && (c \in corners R) | beside k && (c \in castle R)].
Definition needs k := if (k \in castle R) || beside k then on_castle R else elsewhere R.

(* The content of the neighbour in a direction, if that cell is on the board, satisfies a condition. *)
Definition at_side k d (Q : nat -> bool) := if step k d is Some c then Q c else false.

Definition captured p k :=
  match needs k with
  | Two =>   (* a black soldier on one side, and a black soldier or a hostile cell on the opposite side *)
      has (fun d => at_side k d (fun c => p c == Black)
                    && at_side k (opposite d) (fun c => (p c == Black) || hostile k c)) directions
  | Four =>  (* black soldiers on all four sides; beside the castle, hostile cells may replace some of them *)
      all (fun d => at_side k d (fun c => (p c == Black) || (beside k && hostile k c))) directions
      && has (fun d => at_side k d (fun c => p c == Black)) directions
  end.

(* A captured king stays on its cell, so each of these placements is also an undecided one. *)
Definition king_captured p :=
  [&& placed p, 0 < number_of Black p & king_on (fun k => (k \in king_cells) && captured p k) p].

(* The union of these sets: the placements that the corrected bound counts once each. *)
Definition counted p := [|| undecided p, all_captured p, escaped p, escaped_last p | king_captured p].

End Rules.

(* ---- Numbers of placements, and of classes of placements --------------------------------------------------------- *)

(* A placement assigns a content to each of the side * side cells. As a function of cell numbers, it is empty beyond the
   board. *)
Definition placement R := {ffun 'I_(side R * side R) -> content}.

Definition reading m (p : {ffun 'I_m -> content}) (c : nat) : content := if insub c is Some i then p i else Empty.

(* The number of placements with a property. (`N` is the type of binary natural numbers.) *)
Definition number R (Q : (nat -> content) -> bool) : N := N.of_nat #|[set p : placement R | Q (reading p)]|.

(* The eight symmetries of the square: flip the files or not, flip the ranks or not, and then exchange files and ranks
   or not. *)
Definition symmetry := (bool * bool * bool)%type.
Definition moved (m : nat) (g : symmetry) (c : nat) : nat :=
  let: (flip_files, flip_ranks, exchange) := g in
  let x := if flip_files then m.-1 - c %% m else c %% m in
  let y := if flip_ranks then m.-1 - c %/ m else c %/ m in
  if exchange then y + m * x else x + m * y.

Definition turned R (g : symmetry) (p : placement R) : placement R := [ffun i => reading p (moved (side R) g (val i))].

(* The class of a placement: the placements into which the symmetries turn it. *)
Definition class_of R (p : placement R) : {set placement R} := [set turned g p | g : symmetry].

(* The number of classes that contain a placement with a property. *)
Definition classes R (Q : (nat -> content) -> bool) : N :=
  N.of_nat #|[set class_of p | p in [set p : placement R | Q (reading p)]]|.
