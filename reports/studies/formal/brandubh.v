(* Brandubh

   `python -m reports.studies.formal generate` wrote this file from the rule set brandubh.
   The terrain and the start:

     X.....X    ...b...
     .......    ...b...
     .......    ...w...
     ...T...    bbwKwbb
     .......    ...w...
     .......    ...b...
     X.....X    ...b... *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition brandubh : ruleset := {|
  side := 7;
  castle := [:: 24];
  camps := [::];
  manned_camps := [::];
  corners := [:: 0; 6; 42; 48];
  escapes := [:: 0; 6; 42; 48];
  king_start := 24;
  black_men := 8;
  white_men := 4;
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
Definition king_list : seq nat := Eval vm_compute in king_cells brandubh.

Theorem king_cells_reached c : king_reaches brandubh c <-> c \in king_cells brandubh.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured brandubh p -> undecided brandubh p.
Proof. exact: king_captured_undecided. Qed.

(* ---- Numbers of placements --------------------------------------------------------------------------------------- *)

(* undecided placements: 513,895,933,726,945 *)
Theorem corrected_no_end :
  number brandubh (undecided brandubh) = 513895933726945%N.
Proof. apply: (prove_undecided (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 6,164,698 *)
Theorem corrected_all_captured :
  number brandubh (all_captured brandubh) = 6164698%N.
Proof. apply: (prove_all_captured (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 57,517,650,458,452 *)
Theorem corrected_escaped :
  number brandubh (escaped brandubh) = 57517650458452%N.
Proof. apply: (prove_escaped (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 596,328 *)
Theorem corrected_escaped_last :
  number brandubh (escaped_last brandubh) = 596328%N.
Proof. apply: (prove_escaped_last (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 33,282,164,501,979 *)
Theorem corrected_king_captured :
  number brandubh (king_captured brandubh) = 33282164501979%N.
Proof. apply: (prove_king_captured (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 571,413,590,946,423 *)
Theorem corrected_distinct :
  number brandubh (counted brandubh) = 571413590946423%N.
Proof. apply: (prove_counted (kc := king_list)); by_computation. Qed.

(* all final kinds: 90,799,821,721,457 *)
Theorem corrected_end :
  (number brandubh (all_captured brandubh)
   + number brandubh (escaped brandubh)
   + number brandubh (escaped_last brandubh)
   + number brandubh (king_captured brandubh))%num
  = 90799821721457%N.
Proof.
apply: (sum_of_four
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 604,695,755,448,402 *)
Theorem corrected_total :
  (number brandubh (undecided brandubh)
   + number brandubh (all_captured brandubh)
   + number brandubh (escaped brandubh)
   + number brandubh (escaped_last brandubh)
   + number brandubh (king_captured brandubh))%num
  = 604695755448402%N.
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

(* undecided placements: 64,237,010,286,709 *)
Theorem classes_no_end :
  classes brandubh (undecided brandubh) = 64237010286709%N.
Proof. apply: (prove_undecided_classes (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 771,987 *)
Theorem classes_all_captured :
  classes brandubh (all_captured brandubh) = 771987%N.
Proof. apply: (prove_all_captured_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 7,189,708,360,232 *)
Theorem classes_escaped :
  classes brandubh (escaped brandubh) = 7189708360232%N.
Proof. apply: (prove_escaped_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 74,739 *)
Theorem classes_escaped_last :
  classes brandubh (escaped_last brandubh) = 74739%N.
Proof. apply: (prove_escaped_last_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 4,160,272,153,650 *)
Theorem classes_king_captured :
  classes brandubh (king_captured brandubh) = 4160272153650%N.
Proof. apply: (prove_king_captured_classes (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 71,426,719,493,667 *)
Theorem classes_distinct :
  classes brandubh (counted brandubh) = 71426719493667%N.
Proof. apply: (prove_counted_classes (kc := king_list)); by_computation. Qed.

(* all final kinds: 11,349,981,360,608 *)
Theorem classes_end :
  (classes brandubh (all_captured brandubh)
   + classes brandubh (escaped brandubh)
   + classes brandubh (escaped_last brandubh)
   + classes brandubh (king_captured brandubh))%num
  = 11349981360608%N.
Proof.
apply: (sum_of_four
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 75,586,991,647,317 *)
Theorem classes_total :
  (classes brandubh (undecided brandubh)
   + classes brandubh (all_captured brandubh)
   + classes brandubh (escaped brandubh)
   + classes brandubh (escaped_last brandubh)
   + classes brandubh (king_captured brandubh))%num
  = 75586991647317%N.
Proof.
apply: (sum_of_five
  classes_no_end
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.
