(* Brandubh on 5x5, four attackers against the king

   `python -m reports.studies.formal generate` wrote this file from the rule set brandubh-5-4v0.
   The terrain and the start:

     X...X    ..b..
     .....    .....
     ..T..    b.K.b
     .....    .....
     X...X    ..b.. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition brandubh_5_4v0 : ruleset := {|
  side := 5;
  castle := [:: 12];
  camps := [::];
  manned_camps := [::];
  corners := [:: 0; 4; 20; 24];
  escapes := [:: 0; 4; 20; 24];
  king_start := 12;
  black_men := 4;
  white_men := 0;
  king_passes_castle := true;
  king_enters_castle := true;
  camps_hostile := false;
  corners_hostile := true;
  king_armed := true;
  on_castle := Four;
  beside_as_on_castle := true;
  elsewhere := Two
|}.

(* The cells of an undecided king: the list is right. *)
Definition king_list : seq nat := Eval vm_compute in king_cells brandubh_5_4v0.

Theorem king_cells_reached c : king_reaches brandubh_5_4v0 c <-> c \in king_cells brandubh_5_4v0.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured brandubh_5_4v0 p -> undecided brandubh_5_4v0 p.
Proof. exact: king_captured_undecided. Qed.

(* ---- Numbers of placements --------------------------------------------------------------------------------------- *)

(* undecided placements: 106,895 *)
Theorem corrected_no_end :
  number brandubh_5_4v0 (undecided brandubh_5_4v0) = 106895%N.
Proof. apply: (prove_undecided (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 21 *)
Theorem corrected_all_captured :
  number brandubh_5_4v0 (all_captured brandubh_5_4v0) = 21%N.
Proof. apply: (prove_all_captured (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 24,092 *)
Theorem corrected_escaped :
  number brandubh_5_4v0 (escaped brandubh_5_4v0) = 24092%N.
Proof. apply: (prove_escaped (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 4 *)
Theorem corrected_escaped_last :
  number brandubh_5_4v0 (escaped_last brandubh_5_4v0) = 4%N.
Proof. apply: (prove_escaped_last (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 9,817 *)
Theorem corrected_king_captured :
  number brandubh_5_4v0 (king_captured brandubh_5_4v0) = 9817%N.
Proof. apply: (prove_king_captured (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 131,012 *)
Theorem corrected_distinct :
  number brandubh_5_4v0 (counted brandubh_5_4v0) = 131012%N.
Proof. apply: (prove_counted (kc := king_list)); by_computation. Qed.

(* all final kinds: 33,934 *)
Theorem corrected_end :
  (number brandubh_5_4v0 (all_captured brandubh_5_4v0)
   + number brandubh_5_4v0 (escaped brandubh_5_4v0)
   + number brandubh_5_4v0 (escaped_last brandubh_5_4v0)
   + number brandubh_5_4v0 (king_captured brandubh_5_4v0))%num
  = 33934%N.
Proof.
apply: (sum_of_four
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 140,829 *)
Theorem corrected_total :
  (number brandubh_5_4v0 (undecided brandubh_5_4v0)
   + number brandubh_5_4v0 (all_captured brandubh_5_4v0)
   + number brandubh_5_4v0 (escaped brandubh_5_4v0)
   + number brandubh_5_4v0 (escaped_last brandubh_5_4v0)
   + number brandubh_5_4v0 (king_captured brandubh_5_4v0))%num
  = 140829%N.
Proof.
apply: (sum_of_five
  corrected_no_end
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* ---- Numbers of classes under the symmetries --------------------------------------------------------------------- *)

(* undecided placements: 13,540 *)
Theorem classes_no_end :
  classes brandubh_5_4v0 (undecided brandubh_5_4v0) = 13540%N.
Proof. apply: (prove_undecided_classes (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 5 *)
Theorem classes_all_captured :
  classes brandubh_5_4v0 (all_captured brandubh_5_4v0) = 5%N.
Proof. apply: (prove_all_captured_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 3,043 *)
Theorem classes_escaped :
  classes brandubh_5_4v0 (escaped brandubh_5_4v0) = 3043%N.
Proof. apply: (prove_escaped_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 1 *)
Theorem classes_escaped_last :
  classes brandubh_5_4v0 (escaped_last brandubh_5_4v0) = 1%N.
Proof. apply: (prove_escaped_last_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 1,237 *)
Theorem classes_king_captured :
  classes brandubh_5_4v0 (king_captured brandubh_5_4v0) = 1237%N.
Proof. apply: (prove_king_captured_classes (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 16,589 *)
Theorem classes_distinct :
  classes brandubh_5_4v0 (counted brandubh_5_4v0) = 16589%N.
Proof. apply: (prove_counted_classes (kc := king_list)); by_computation. Qed.

(* all final kinds: 4,286 *)
Theorem classes_end :
  (classes brandubh_5_4v0 (all_captured brandubh_5_4v0)
   + classes brandubh_5_4v0 (escaped brandubh_5_4v0)
   + classes brandubh_5_4v0 (escaped_last brandubh_5_4v0)
   + classes brandubh_5_4v0 (king_captured brandubh_5_4v0))%num
  = 4286%N.
Proof.
apply: (sum_of_four
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 17,826 *)
Theorem classes_total :
  (classes brandubh_5_4v0 (undecided brandubh_5_4v0)
   + classes brandubh_5_4v0 (all_captured brandubh_5_4v0)
   + classes brandubh_5_4v0 (escaped brandubh_5_4v0)
   + classes brandubh_5_4v0 (escaped_last brandubh_5_4v0)
   + classes brandubh_5_4v0 (king_captured brandubh_5_4v0))%num
  = 17826%N.
Proof.
apply: (sum_of_five
  classes_no_end
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* ---- The same numbers by a list of all placements ---------------------------------------------------------------- *)

Theorem listing :
  [/\ number brandubh_5_4v0 (undecided brandubh_5_4v0) = 106895%N,
      number brandubh_5_4v0 (all_captured brandubh_5_4v0) = 21%N,
      number brandubh_5_4v0 (escaped brandubh_5_4v0) = 24092%N,
      number brandubh_5_4v0 (escaped_last brandubh_5_4v0) = 4%N
    & number brandubh_5_4v0 (king_captured brandubh_5_4v0) = 9817%N /\
      number brandubh_5_4v0 (counted brandubh_5_4v0) = 131012%N].
Proof. apply: (by_listing (kc := king_list)); by_computation. Qed.
