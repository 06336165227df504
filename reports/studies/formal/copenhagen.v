(* Copenhagen Hnefatafl

   `python -m reports.studies.formal generate` wrote this file from the rule set copenhagen.
   The terrain and the start:

     X.........X    ...bbbbb...
     ...........    .....b.....
     ...........    ...........
     ...........    b....w....b
     ...........    b...www...b
     .....T.....    bb.wwKww.bb
     ...........    b...www...b
     ...........    b....w....b
     ...........    ...........
     ...........    .....b.....
     X.........X    ...bbbbb... *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition copenhagen : ruleset := {|
  side := 11;
  castle := [:: 60];
  camps := [::];
  manned_camps := [::];
  corners := [:: 0; 10; 110; 120];
  escapes := [:: 0; 10; 110; 120];
  king_start := 60;
  black_men := 24;
  white_men := 12;
  king_passes_castle := true;
  king_enters_castle := true;
  camps_hostile := false;
  corners_hostile := true;
  king_armed := true;
  on_castle := Four;
  beside_as_on_castle := true;
  elsewhere := Four
|}.

(* The cells of an undecided king: the list is right. *)
Definition king_list : seq nat := Eval vm_compute in king_cells copenhagen.

Theorem king_cells_reached c : king_reaches copenhagen c <-> c \in king_cells copenhagen.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured copenhagen p -> undecided copenhagen p.
Proof. exact: king_captured_undecided. Qed.

(* ---- Numbers of placements --------------------------------------------------------------------------------------- *)

(* undecided placements: 214,389,059,389,473,092,376,981,276,636,806,233,660,798 *)
Theorem corrected_no_end :
  number copenhagen (undecided copenhagen) = 214389059389473092376981276636806233660798%N.
Proof. apply: (prove_undecided (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 815,143,713,762,881,276 *)
Theorem corrected_all_captured :
  number copenhagen (all_captured copenhagen) = 815143713762881276%N.
Proof. apply: (prove_all_captured (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 9,551,665,908,993,495,962,297,205,302,302,511,682,888 *)
Theorem corrected_escaped :
  number copenhagen (escaped copenhagen) = 9551665908993495962297205302302511682888%N.
Proof. apply: (prove_escaped (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 30,715,417,092,857,760 *)
Theorem corrected_escaped_last :
  number copenhagen (escaped_last copenhagen) = 30715417092857760%N.
Proof. apply: (prove_escaped_last (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 260,195,840,908,134,890,161,515,733,026,820,883,682 *)
Theorem corrected_king_captured :
  number copenhagen (king_captured copenhagen) = 260195840908134890161515733026820883682%N.
Proof. apply: (prove_king_captured (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 223,940,725,298,466,588,339,279,327,798,239,601,082,722 *)
Theorem corrected_distinct :
  number copenhagen (counted copenhagen) = 223940725298466588339279327798239601082722%N.
Proof. apply: (prove_counted (kc := king_list)); by_computation. Qed.

(* all final kinds: 9,811,861,749,901,630,852,459,566,894,460,188,305,606 *)
Theorem corrected_end :
  (number copenhagen (all_captured copenhagen)
   + number copenhagen (escaped copenhagen)
   + number copenhagen (escaped_last copenhagen)
   + number copenhagen (king_captured copenhagen))%num
  = 9811861749901630852459566894460188305606%N.
Proof.
apply: (sum_of_four
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 224,200,921,139,374,723,229,440,843,531,266,421,966,404 *)
Theorem corrected_total :
  (number copenhagen (undecided copenhagen)
   + number copenhagen (all_captured copenhagen)
   + number copenhagen (escaped copenhagen)
   + number copenhagen (escaped_last copenhagen)
   + number copenhagen (king_captured copenhagen))%num
  = 224200921139374723229440843531266421966404%N.
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

(* undecided placements: 26,798,632,423,684,136,548,808,490,825,289,745,976,126 *)
Theorem classes_no_end :
  classes copenhagen (undecided copenhagen) = 26798632423684136548808490825289745976126%N.
Proof. apply: (prove_undecided_classes (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 101,892,965,264,090,666 *)
Theorem classes_all_captured :
  classes copenhagen (all_captured copenhagen) = 101892965264090666%N.
Proof. apply: (prove_all_captured_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 1,193,958,238,624,186,995,400,303,885,425,600,001,199 *)
Theorem classes_escaped :
  classes copenhagen (escaped copenhagen) = 1193958238624186995400303885425600001199%N.
Proof. apply: (prove_escaped_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 3,839,427,228,116,777 *)
Theorem classes_escaped_last :
  classes copenhagen (escaped_last copenhagen) = 3839427228116777%N.
Proof. apply: (prove_escaped_last_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 32,524,480,113,516,861,307,432,628,634,733,716,012 *)
Theorem classes_king_captured :
  classes copenhagen (king_captured copenhagen) = 32524480113516861307432628634733716012%N.
Proof. apply: (prove_king_captured_classes (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 27,992,590,662,308,323,544,208,900,443,107,838,184,768 *)
Theorem classes_distinct :
  classes copenhagen (counted copenhagen) = 27992590662308323544208900443107838184768%N.
Proof. apply: (prove_counted_classes (kc := king_list)); by_computation. Qed.

(* all final kinds: 1,226,482,718,737,703,856,707,842,246,452,825,924,654 *)
Theorem classes_end :
  (classes copenhagen (all_captured copenhagen)
   + classes copenhagen (escaped copenhagen)
   + classes copenhagen (escaped_last copenhagen)
   + classes copenhagen (king_captured copenhagen))%num
  = 1226482718737703856707842246452825924654%N.
Proof.
apply: (sum_of_four
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 28,025,115,142,421,840,405,516,333,071,742,571,900,780 *)
Theorem classes_total :
  (classes copenhagen (undecided copenhagen)
   + classes copenhagen (all_captured copenhagen)
   + classes copenhagen (escaped copenhagen)
   + classes copenhagen (escaped_last copenhagen)
   + classes copenhagen (king_captured copenhagen))%num
  = 28025115142421840405516333071742571900780%N.
Proof.
apply: (sum_of_five
  classes_no_end
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.
