(* Tablut after Galassi and Ashton

   `python -m reports.studies.formal generate` wrote this file from the rule set ashton.
   The terrain and the start:

     +**AAA**+    ...bbb...
     *...A...*    ....b....
     *.......*    ....w....
     B.......C    b...w...b
     BB..T..CC    bbwwKwwbb
     B.......C    b...w...b
     *.......*    ....w....
     *...D...*    ....b....
     +**DDD**+    ...bbb... *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition ashton : ruleset := {|
  side := 9;
  castle := [:: 40];
  camps := [:: 3; 4; 5; 13; 27; 35; 36; 37; 43; 44; 45; 53; 67; 75; 76; 77];
  manned_camps := [:: 3; 4; 5; 13; 27; 35; 36; 37; 43; 44; 45; 53; 67; 75; 76; 77];
  corners := [::];
  escapes := [:: 1; 2; 6; 7; 9; 17; 18; 26; 54; 62; 63; 71; 73; 74; 78; 79];
  king_start := 40;
  black_men := 16;
  white_men := 8;
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
Definition king_list : seq nat := Eval vm_compute in king_cells ashton.

Theorem king_cells_reached c : king_reaches ashton c <-> c \in king_cells ashton.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured ashton p -> undecided ashton p.
Proof. exact: king_captured_undecided. Qed.

(* ---- Numbers of placements --------------------------------------------------------------------------------------- *)

(* undecided placements: 947,889,249,256,532,407,079,664,255 *)
Theorem corrected_no_end :
  number ashton (undecided ashton) = 947889249256532407079664255%N.
Proof. apply: (prove_undecided (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 203,208,853,237 *)
Theorem corrected_all_captured :
  number ashton (all_captured ashton) = 203208853237%N.
Proof. apply: (prove_all_captured (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 228,207,007,117,729,462,830,447,728 *)
Theorem corrected_escaped :
  number ashton (escaped ashton) = 228207007117729462830447728%N.
Proof. apply: (prove_escaped (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 63,063,005,392 *)
Theorem corrected_escaped_last :
  number ashton (escaped_last ashton) = 63063005392%N.
Proof. apply: (prove_escaped_last (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 117,778,719,936,684,302,563,797,400 *)
Theorem corrected_king_captured :
  number ashton (king_captured ashton) = 117778719936684302563797400%N.
Proof. apply: (prove_king_captured (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 1,176,096,256,374,262,136,181,970,612 *)
Theorem corrected_distinct :
  number ashton (counted ashton) = 1176096256374262136181970612%N.
Proof. apply: (prove_counted (kc := king_list)); by_computation. Qed.

(* all final kinds: 345,985,727,054,414,031,666,103,757 *)
Theorem corrected_end :
  (number ashton (all_captured ashton)
   + number ashton (escaped ashton)
   + number ashton (escaped_last ashton)
   + number ashton (king_captured ashton))%num
  = 345985727054414031666103757%N.
Proof.
apply: (sum_of_four
  corrected_all_captured
  corrected_escaped
  corrected_escaped_last
  corrected_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 1,293,874,976,310,946,438,745,768,012 *)
Theorem corrected_total :
  (number ashton (undecided ashton)
   + number ashton (all_captured ashton)
   + number ashton (escaped ashton)
   + number ashton (escaped_last ashton)
   + number ashton (king_captured ashton))%num
  = 1293874976310946438745768012%N.
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

(* undecided placements: 118,486,156,157,130,402,293,082,101 *)
Theorem classes_no_end :
  classes ashton (undecided ashton) = 118486156157130402293082101%N.
Proof. apply: (prove_undecided_classes (kc := king_list)); by_computation. Qed.

(* final placements: all black soldiers captured: 25,401,478,799 *)
Theorem classes_all_captured :
  classes ashton (all_captured ashton) = 25401478799%N.
Proof. apply: (prove_all_captured_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped, and black soldiers are left: 28,525,875,889,716,182,853,805,966 *)
Theorem classes_escaped :
  classes ashton (escaped ashton) = 28525875889716182853805966%N.
Proof. apply: (prove_escaped_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has escaped and captured the last black soldier: 7,882,875,674 *)
Theorem classes_escaped_last :
  classes ashton (escaped_last ashton) = 7882875674%N.
Proof. apply: (prove_escaped_last_classes (kc := king_list)); by_computation. Qed.

(* final placements: the king has been captured: 14,722,339,992,089,620,251,272,880 *)
Theorem classes_king_captured :
  classes ashton (king_captured ashton) = 14722339992089620251272880%N.
Proof. apply: (prove_king_captured_classes (kc := king_list)); by_computation. Qed.

(* their union, each placement once: 147,012,032,046,846,618,431,242,540 *)
Theorem classes_distinct :
  classes ashton (counted ashton) = 147012032046846618431242540%N.
Proof. apply: (prove_counted_classes (kc := king_list)); by_computation. Qed.

(* all final kinds: 43,248,215,881,805,836,389,433,319 *)
Theorem classes_end :
  (classes ashton (all_captured ashton)
   + classes ashton (escaped ashton)
   + classes ashton (escaped_last ashton)
   + classes ashton (king_captured ashton))%num
  = 43248215881805836389433319%N.
Proof.
apply: (sum_of_four
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.

(* labelled placements: undecided ones, and all final kinds: 161,734,372,038,936,238,682,515,420 *)
Theorem classes_total :
  (classes ashton (undecided ashton)
   + classes ashton (all_captured ashton)
   + classes ashton (escaped ashton)
   + classes ashton (escaped_last ashton)
   + classes ashton (king_captured ashton))%num
  = 161734372038936238682515420%N.
Proof.
apply: (sum_of_five
  classes_no_end
  classes_all_captured
  classes_escaped
  classes_escaped_last
  classes_king_captured);
by_computation.
Qed.
