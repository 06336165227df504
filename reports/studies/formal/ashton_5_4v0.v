(* Ashton's rules on 5x5, four attackers against the king

   `python -m reports.studies.formal generate` wrote this file from the rule set ashton-5-4v0.
   The terrain and the start:

     +*A*+    ..b..
     *...*    .....
     B.T.C    b.K.b
     *...*    .....
     +*D*+    ..b.. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition ashton_5_4v0 : ruleset := {|
  side := 5;
  castle := [:: 12];
  camps := [:: 2; 10; 14; 22];
  manned_camps := [:: 2; 10; 14; 22];
  corners := [::];
  escapes := [:: 1; 3; 5; 9; 15; 19; 21; 23];
  king_start := 12;
  black_men := 4;
  white_men := 0;
  king_passes_castle := false;
  king_enters_castle := false;
  camps_hostile := true;
  corners_hostile := false;
  king_armed := true;
  on_castle := Four;
  beside_as_on_castle := true;
  elsewhere := Two
|}.

(* The cells of an undecided king: the list is right. *)
Definition king_list : seq nat := Eval vm_compute in king_cells ashton_5_4v0.

Theorem king_cells_reached c : king_reaches ashton_5_4v0 c <-> c \in king_cells ashton_5_4v0.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured ashton_5_4v0 p -> undecided ashton_5_4v0 p.
Proof. exact: king_captured_undecided. Qed.

(* ---- Numbers of placements --------------------------------------------------------------------------------------- *)

(* undecided placements: 100,166 *)
Theorem corrected_no_end :
  number ashton_5_4v0 (undecided ashton_5_4v0) = 100166%N.
Proof. apply: (prove_undecided (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 9 *)
Theorem corrected_all_captured :
  number ashton_5_4v0 (all_captured ashton_5_4v0) = 9%N.
Proof. apply: (prove_all_captured (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 72,864 *)
Theorem corrected_escaped :
  number ashton_5_4v0 (escaped ashton_5_4v0) = 72864%N.
Proof. apply: (prove_escaped (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 8 *)
Theorem corrected_escaped_last :
  number ashton_5_4v0 (escaped_last ashton_5_4v0) = 8%N.
Proof. apply: (prove_escaped_last (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 2,781 *)
Theorem corrected_king_captured :
  number ashton_5_4v0 (king_captured ashton_5_4v0) = 2781%N.
Proof. apply: (prove_king_captured (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 173,047 *)
Theorem corrected_distinct :
  number ashton_5_4v0 (counted ashton_5_4v0) = 173047%N.
Proof. apply: (prove_counted (kc := king_list)); by_computation. Qed.

(* all final kinds: 75,662 *)
Theorem corrected_end :
  (number ashton_5_4v0 (all_captured ashton_5_4v0)
   + number ashton_5_4v0 (escaped ashton_5_4v0)
   + number ashton_5_4v0 (escaped_last ashton_5_4v0)
   + number ashton_5_4v0 (king_captured ashton_5_4v0))%num
  = 75662%N.
Proof.
apply: (sum_of_four
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 175,828 *)
Theorem corrected_total :
  (number ashton_5_4v0 (undecided ashton_5_4v0)
   + number ashton_5_4v0 (all_captured ashton_5_4v0)
   + number ashton_5_4v0 (escaped ashton_5_4v0)
   + number ashton_5_4v0 (escaped_last ashton_5_4v0)
   + number ashton_5_4v0 (king_captured ashton_5_4v0))%num
  = 175828%N.
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

(* undecided placements: 12,739 *)
Theorem classes_no_end :
  classes ashton_5_4v0 (undecided ashton_5_4v0) = 12739%N.
Proof. apply: (prove_undecided_classes (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 3 *)
Theorem classes_all_captured :
  classes ashton_5_4v0 (all_captured ashton_5_4v0) = 3%N.
Proof. apply: (prove_all_captured_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 9,108 *)
Theorem classes_escaped :
  classes ashton_5_4v0 (escaped ashton_5_4v0) = 9108%N.
Proof. apply: (prove_escaped_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 1 *)
Theorem classes_escaped_last :
  classes ashton_5_4v0 (escaped_last ashton_5_4v0) = 1%N.
Proof. apply: (prove_escaped_last_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 357 *)
Theorem classes_king_captured :
  classes ashton_5_4v0 (king_captured ashton_5_4v0) = 357%N.
Proof. apply: (prove_king_captured_classes (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 21,851 *)
Theorem classes_distinct :
  classes ashton_5_4v0 (counted ashton_5_4v0) = 21851%N.
Proof. apply: (prove_counted_classes (kc := king_list)); by_computation. Qed.

(* all final kinds: 9,469 *)
Theorem classes_end :
  (classes ashton_5_4v0 (all_captured ashton_5_4v0)
   + classes ashton_5_4v0 (escaped ashton_5_4v0)
   + classes ashton_5_4v0 (escaped_last ashton_5_4v0)
   + classes ashton_5_4v0 (king_captured ashton_5_4v0))%num
  = 9469%N.
Proof.
apply: (sum_of_four
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 22,208 *)
Theorem classes_total :
  (classes ashton_5_4v0 (undecided ashton_5_4v0)
   + classes ashton_5_4v0 (all_captured ashton_5_4v0)
   + classes ashton_5_4v0 (escaped ashton_5_4v0)
   + classes ashton_5_4v0 (escaped_last ashton_5_4v0)
   + classes ashton_5_4v0 (king_captured ashton_5_4v0))%num
  = 22208%N.
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
  [/\ number ashton_5_4v0 (undecided ashton_5_4v0) = 100166%N,
      number ashton_5_4v0 (all_captured ashton_5_4v0) = 9%N,
      number ashton_5_4v0 (escaped ashton_5_4v0) = 72864%N,
      number ashton_5_4v0 (escaped_last ashton_5_4v0) = 8%N
    & number ashton_5_4v0 (king_captured ashton_5_4v0) = 2781%N /\
      number ashton_5_4v0 (counted ashton_5_4v0) = 173047%N].
Proof. apply: (by_listing (kc := king_list)); by_computation. Qed.
