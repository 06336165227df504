(* The equations of A. Galassi, "An Upper Bound on the Complexity of Tablut", as numbers of placements.

   The paper describes each set in words and counts it by a formula. Here each set is defined by a program in the words
   of `definitions.v`; the theorems give the number of its elements, its formula, and whether the printed figure is this
   number rounded. *)

From mathcomp Require Import all_ssreflect all_fingroup.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes binomials rules ashton.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- The paper's sets -------------------------------------------------------------------------------------------- *)

Section Sets.
Implicit Type p : nat -> content.
Notation R := ashton.

(* Equation (1): any content in each cell, among those that occur there in some undecided game. *)
Definition on_edge c := size (neighbours R c) < 4.
Definition naive_contents c : seq content :=
  if c \in castle R then [:: Empty; King]
  else if c \in camps R then [:: Empty; Black]
  else if on_edge c then [:: Empty; Black; White]
  else [:: Empty; Black; White; King].
Definition naive p := all (fun c => p c \in naive_contents c) (cells R).

(* Equation (3): the camps are ignored, so that soldiers stand anywhere but on the castle. *)
Definition camps_ignored p :=
  [&& number_of R King p == 1, 0 < number_of R Black p <= 16, number_of R White p <= 8,
      all (fun c => (p c \in [:: Empty; King]) || (c \notin castle R)) (cells R) & king_on R (mem (king_cells R)) p].

(* Equations (4) and (5): undecided, with the king on the castle or elsewhere. *)
Definition with_king (Q : nat -> bool) p :=
  [&& placed R p, 0 < number_of R Black p & king_on R (fun k => (k \in king_cells R) && Q k) p].
Definition on_the_castle := with_king (mem (castle R)).
Definition off_the_castle := with_king (fun k => k \notin castle R).

(* Equation (7) is `all_captured`, and equation (8) is `escaped`, of `definitions.v`. *)

(* Equation (9): the king on the castle, black soldiers on all four sides. *)
Definition taken_on_castle p := with_king (fun k => (k \in castle R) && all (fun c => p c == Black) (neighbours R k)) p.

(* Equation (10): the king beside the castle, black soldiers on the three other sides. *)
Definition beside_castle k := has (mem (castle R)) (neighbours R k).
Definition taken_beside_castle p :=
  with_king (fun k => beside_castle k && all (fun c => (c \in castle R) || (p c == Black)) (neighbours R k)) p.

(* Equation (11): the king beside a camp, and a black soldier on the opposite side. The paper counts the soldiers that
   capture so: a placement counts once for each direction from the king to such a soldier. *)
Definition beside_camp k := has (mem (camps R)) (neighbours R k).
Definition taken_at_camp d p :=
  with_king (fun k => [&& beside_camp k, at_side R k d (fun c => p c == Black)
                        & at_side R k (opposite d) (mem (camps R))]) p.

(* Equation (12): the king beside neither, and black soldiers on two opposite sides. The paper counts the pairs: a
   placement counts once for each of the two lines, named by one of their directions. *)
Definition lines := [:: North; East].
Definition taken_elsewhere d p :=
  with_king (fun k => [&& k \notin castle R, ~~ beside_castle k, ~~ beside_camp k, at_side R k d (fun c => p c == Black)
                        & at_side R k (opposite d) (fun c => p c == Black)]) p.

(* Not counted by any equation: the king beside a camp, and black soldiers on two opposite sides, on a line without a
   camp. *)
Definition taken_past_camp d p :=
  with_king (fun k => [&& beside_camp k, at_side R k d (fun c => (p c == Black) && (c \notin camps R))
                        & at_side R k (opposite d) (fun c => (p c == Black) && (c \notin camps R))]) p.

(* The number of pairs of a direction and a placement. *)
Definition number_by (ds : seq direction) (Q : direction -> (nat -> content) -> bool) : N :=
  foldr (fun d rest => N.add (number R (Q d)) rest) 0%num ds.

(* A printed figure, such as 2.8e22: an integer of some digits (28), and a power of ten (21). A number agrees if it
   rounds to the figure. *)
Definition rounds_to (digits exponent x : N) : bool :=
  N.leb ((2 * digits - 1) * 10 ^ exponent) (2 * x) && N.ltb (2 * x) ((2 * digits + 1) * 10 ^ exponent).

End Sets.

(* ---- From the sets to spaces ------------------------------------------------------------------------------------- *)

Notation R := ashton.
Notation kc := king_list.
Notation n := (side ashton * side ashton).

Lemma kc_right : kc = king_cells R. Proof. by apply/eqP; vm_compute. Qed.

(* Two checks for a set that is a space: its number, and the paper's sum. *)
Section Checked.
Variables (Q : (nat -> content) -> bool) (S : space).
Hypotheses (Q_S : Q =1 in_space n S) (S_bounded : bounded S) (S_local : local S).

Lemma number_checked e : number_is R S e -> number R Q = e.
Proof. by apply: number_space => // p; apply: Q_S. Qed.

Definition formula_is shapes taken low high most :=
  [&& good_space n S, good_cycles n id (identity_cycles R)
    & summed S (identity_cycles R) shapes taken low high most].

Lemma formula_checked shapes taken low high most : formula_is shapes taken low high most ->
  number R Q = N.of_nat (\sum_(t <- shapes) t.1 * paper_sum t.2.1 t.2.2 low high most).
Proof.
case/and3P=> good_S good_cyc sums; rewrite /number -(card_summed good_S good_cyc S_bounded S_local sums).
by congr N.of_nat; apply: eq_card => p; rewrite !inE Q_S.
Qed.
End Checked.

(* (Rewriting with equations between such numbers would unfold them, so their sums are made by lemmas.) *)
Lemma sum_of_two x y a b e : x = a -> y = b -> N.add a b = e -> N.add x y = e.
Proof. by move=> -> -> ->. Qed.

Definition king_space ks cond near := rule_space R ks (fun _ a _ => 0 < a) cond near.

Lemma with_kingE (Q : (nat -> content) -> nat -> bool) ks cond near f :
    all (fun k => k < n) ks -> (forall k, k < n -> (k \in kc) && Q f k = (k \in ks) && cond f k) ->
  with_king (Q f) f = in_space n (king_space ks cond near) f.
Proof.
move=> lt eq; rewrite -(@rule_spaceE R ks (fun _ a _ => 0 < a) cond near f _ lt eq) king_on_and /with_king -kc_right.
by case: (placed R f) => //=; rewrite andbC.
Qed.

Lemma kings_lt (P : nat -> bool) : all (fun k => k < n) [seq k <- kc | P k].
Proof.
have /allP lt : all (fun k => k < n) kc by vm_compute.
by apply/allP => k; rewrite mem_filter => /andP[_]; apply: lt.
Qed.

(* ---- Equation (1) ------------------------------------------------------------------------------------------------ *)

Theorem equation_1 : number R naive = 141440778841410474143624665261815556472832%N.
Proof.
rewrite /number (card_product (n := n) (L := naive_contents)).
  by vm_compute.
by move=> c _; rewrite /naive_contents; do 3![case: ifP => // _].
Qed.
Theorem formula_1 : number R naive = (2 * 2 ^ 16 * 3 ^ 20 * 4 ^ 44)%num.
Proof. by rewrite equation_1; vm_compute. Qed.

(* ---- Equation (2): `multinomial` of `binomials.v`, for 80 cells -------------------------------------------------- *)

Theorem equation_2 b w :
  #|[set p : {ffun 'I_80 -> content} | [&& men 80 King (reading p) == 0, men 80 Black (reading p) == b
                                         & men 80 White (reading p) == w]]| = P 80 b w.
Proof. exact: multinomial. Qed.

(* ---- Equation (3) ------------------------------------------------------------------------------------------------ *)

Definition open_space := general_space R (fun c => if c \in castle R then [:: Empty] else [:: Empty; Black; White])
  kc (fun _ a _ => 0 < a) (fun _ _ => true) (fun _ => [::]).

Lemma camps_ignoredE f : camps_ignored f = in_space n open_space f.
Proof.
rewrite -(@general_spaceE R (fun x c => (x \in [:: Empty; King]) || (c \notin castle R)) _ _ _ _ _ f (mem kc)) //.
- rewrite king_on_and /camps_ignored /placed_by -kc_right.
  change (black_men R) with 16; change (white_men R) with 8.
  by case: (_ == 1); case: (0 < _); case: (_ <= 16); case: (_ <= 8); case: (all _ _); case: (king_on _ _ _).
- by move=> c; case: ifP.
- by move=> x c; case: x => /=; case: (c \in castle R).
by move=> k _; rewrite andbT.
Qed.

Theorem equation_3 : number R camps_ignored = 6096405542257313008648679261%N.
Proof. apply: (number_checked camps_ignoredE); [exact: general_bounded | by [] | by_computation]. Qed.
Theorem formula_3 : number R camps_ignored = N.of_nat (paper_sum 0 80 1 16 8 + 44 * paper_sum 0 79 1 16 8).
Proof.
rewrite (formula_checked camps_ignoredE _ _ (shapes := [:: (1, (0, 80)); (44, (0, 79))]) (taken := 0)
  (low := 1) (high := 16) (most := 8)); first by rewrite !big_cons big_nil mul1n addn0.
- exact: general_bounded.
- by [].
by_computation.
Qed.

(* ---- Sets with a king in a given place: the number, and the formula ---------------------------------------------- *)

Section Kings.
Variables (P : nat -> bool) (cond : (nat -> content) -> nat -> bool) (near : nat -> seq nat).
Variable Q : (nat -> content) -> nat -> bool.
Hypothesis Q_eq : forall f k, Q f k = P k && cond f k.
Hypothesis cond_local : forall k f h, {in near k, f =1 h} -> cond f k = cond h k.

Definition kings_space := king_space [seq k <- kc | P k] cond near.

Lemma kings_spaceE : (fun f => with_king (Q f) f) =1 in_space n kings_space.
Proof.
move=> f; apply: with_kingE => [|k _]; first exact: kings_lt.
by rewrite Q_eq mem_filter andbA [P k && _]andbC.
Qed.

Lemma kings_local : local kings_space. Proof. by move=> k f h _; apply: cond_local. Qed.

Lemma kings_number e : number_is R kings_space e -> number R (fun f => with_king (Q f) f) = e.
Proof. by apply: (number_checked kings_spaceE); [apply: general_bounded | apply: kings_local]. Qed.

Lemma kings_formula shapes taken low high most : formula_is kings_space shapes taken low high most ->
  number R (fun f => with_king (Q f) f) = N.of_nat (\sum_(t <- shapes) t.1 * paper_sum t.2.1 t.2.2 low high most).
Proof. by apply: (formula_checked kings_spaceE); [apply: general_bounded | apply: kings_local]. Qed.

End Kings.

(* One shape of surroundings for all kings. *)
Lemma one_shape many c m low high most :
  \sum_(t <- [:: (many, (c, m))]) t.1 * paper_sum t.2.1 t.2.2 low high most = many * paper_sum c m low high most.
Proof. by rewrite big_seq1. Qed.

Lemma all_local (cs : seq nat) f h : {in cs, f =1 h} -> all (fun c => f c == Black) cs = all (fun c => h c == Black) cs.
Proof. by move=> same; apply: eq_in_all => c c_in; rewrite same. Qed.

Definition side_cells k d : seq nat := if step R k d is Some c then [:: c] else [::].

Lemma side_local k d f h : {in side_cells k d, f =1 h} ->
  at_side R k d (fun c => f c == Black) = at_side R k d (fun c => h c == Black).
Proof. by rewrite /at_side /side_cells; case: (step R k d) => // c same; rewrite same ?mem_head. Qed.

Lemma sides_local k d f h : {in side_cells k d ++ side_cells k (opposite d), f =1 h} ->
  at_side R k d (fun c => f c == Black) && at_side R k (opposite d) (fun c => f c == Black)
  = at_side R k d (fun c => h c == Black) && at_side R k (opposite d) (fun c => h c == Black).
Proof.
move=> same; congr andb; apply: side_local => c c_in; apply: same; by rewrite mem_cat c_in ?orbT.
Qed.

Lemma at_side_and k d (P Q : nat -> bool) : at_side R k d (fun c => P c && Q c) = at_side R k d P && at_side R k d Q.
Proof. by rewrite /at_side; case: (step R k d). Qed.

Definition no_cells (k : nat) : seq nat := [::].
Definition always (f : nat -> content) (k : nat) := true.

(* ---- Equations (4) to (8) ---------------------------------------------------------------------------------------- *)

Lemma on_castle_eq (f : nat -> content) k : (k \in castle R) = (k \in castle R) && always f k.
Proof. by rewrite andbT. Qed.
Lemma off_castle_eq (f : nat -> content) k : (k \notin castle R) = (k \notin castle R) && always f k.
Proof. by rewrite andbT. Qed.

Theorem equation_4 : number R on_the_castle = 30313248887018321011379867%N.
Proof. apply: (kings_number on_castle_eq (near := no_cells)); [by [] | by_computation]. Qed.
Theorem formula_4 : number R on_the_castle = N.of_nat (1 * paper_sum 16 64 1 16 8).
Proof.
rewrite -one_shape; apply: (kings_formula on_castle_eq (near := no_cells) _ (taken := 0)); [by [] | by_computation].
Qed.

Theorem equation_5 : number R off_the_castle = 917576000369514086068284388%N.
Proof. apply: (kings_number off_castle_eq (near := no_cells)); [by [] | by_computation]. Qed.
Theorem formula_5 : number R off_the_castle = N.of_nat (44 * paper_sum 16 63 1 16 8).
Proof.
rewrite -one_shape; apply: (kings_formula off_castle_eq (near := no_cells) _ (taken := 0)); [by [] | by_computation].
Qed.

Theorem equation_6 : (number R on_the_castle + number R off_the_castle)%num = 947889249256532407079664255%N.
Proof. exact: (sum_of_two equation_4 equation_5 (erefl _)). Qed.
Theorem equation_6_undecided : number R (undecided R) = 947889249256532407079664255%N.
Proof. exact: corrected_no_end. Qed.

Theorem equation_7 : number R (all_captured R) = 203208853237%N.
Proof. exact: corrected_all_captured. Qed.
Theorem formula_7 : number R (all_captured R) = N.of_nat (paper_sum 16 64 0 0 8 + 44 * paper_sum 16 63 0 0 8).
Proof.
have E f : all_captured R f = in_space n (all_captured_space R kc) f by apply: (all_capturedE kc_right).
rewrite (formula_checked E _ _ (shapes := [:: (1, (16, 64)); (44, (16, 63))]) (taken := 0) (low := 0) (high := 0)
  (most := 8)); first by rewrite !big_cons big_nil mul1n addn0.
- exact: general_bounded.
- exact: all_captured_local.
by_computation.
Qed.

Theorem equation_8 : number R (escaped R) = 228207007117729462830447728%N.
Proof. exact: corrected_escaped. Qed.
Theorem formula_8 : number R (escaped R) = N.of_nat (16 * paper_sum 16 62 1 16 8).
Proof.
have E f : escaped R f = in_space n (escaped_space R kc) f by apply: (escapedE kc_right).
rewrite (formula_checked E _ _ (shapes := [:: (16, (16, 62))]) (taken := 0) (low := 1) (high := 16) (most := 8)).
- by rewrite one_shape.
- exact: general_bounded.
- exact: escaped_local.
by_computation.
Qed.

(* ---- Equations (9) to (12) --------------------------------------------------------------------------------------- *)

Definition surrounded (f : nat -> content) k := all (fun c => f c == Black) (neighbours R k).
Lemma surrounded_eq (f : nat -> content) k :
  (k \in castle R) && all (fun c => f c == Black) (neighbours R k) = (k \in castle R) && surrounded f k.
Proof. by []. Qed.
Lemma surrounded_local k f h : {in neighbours R k, f =1 h} -> surrounded f k = surrounded h k.
Proof. exact: all_local. Qed.

Theorem equation_9 : number R taken_on_castle = 28473508057241538423256%N.
Proof. apply: (kings_number surrounded_eq surrounded_local); by_computation. Qed.
Theorem formula_9 : number R taken_on_castle = N.of_nat (1 * paper_sum 16 60 0 12 8).
Proof. rewrite -one_shape; apply: (kings_formula surrounded_eq surrounded_local (taken := 4)); by_computation. Qed.

Definition others k := [seq c <- neighbours R k | c \notin castle R].
Definition surrounded_beside (f : nat -> content) k := all (fun c => f c == Black) (others k).
Lemma beside_eq (f : nat -> content) k :
  beside_castle k && all (fun c => (c \in castle R) || (f c == Black)) (neighbours R k)
  = beside_castle k && surrounded_beside f k.
Proof.
by rewrite /surrounded_beside /others all_filter; congr andb; apply: eq_all => c /=; case: (c \in castle R).
Qed.
Lemma beside_local k f h : {in others k, f =1 h} -> surrounded_beside f k = surrounded_beside h k.
Proof. exact: all_local. Qed.

Theorem equation_10 : number R taken_beside_castle = 505571024180850074037344%N.
Proof. apply: (kings_number beside_eq beside_local); by_computation. Qed.
Theorem formula_10 : number R taken_beside_castle = N.of_nat (4 * paper_sum 16 60 0 13 8).
Proof. rewrite -one_shape; apply: (kings_formula beside_eq beside_local (taken := 3)); by_computation. Qed.

(* In equations (11) and (12), one direction at a time. *)
Section Direction.
Variable d : direction.

Definition at_camp k := beside_camp k && at_side R k (opposite d) (mem (camps R)).
Definition black_at (f : nat -> content) k := at_side R k d (fun c => f c == Black).
Lemma at_camp_eq (f : nat -> content) k :
  [&& beside_camp k, at_side R k d (fun c => f c == Black) & at_side R k (opposite d) (mem (camps R))]
  = at_camp k && black_at f k.
Proof. by rewrite /at_camp /black_at -andbA [at_side R k d _ && _]andbC. Qed.
Lemma black_at_local k f h : {in side_cells k d, f =1 h} -> black_at f k = black_at h k.
Proof. exact: side_local. Qed.
Definition at_camp_space := kings_space at_camp black_at (fun k => side_cells k d).

Definition line_cells k := side_cells k d ++ side_cells k (opposite d).
Definition black_at_both (f : nat -> content) k :=
  at_side R k d (fun c => f c == Black) && at_side R k (opposite d) (fun c => f c == Black).
Lemma black_at_both_local k f h : {in line_cells k, f =1 h} -> black_at_both f k = black_at_both h k.
Proof. exact: sides_local. Qed.

Definition in_the_open k := [&& k \notin castle R, ~~ beside_castle k & ~~ beside_camp k].
Lemma elsewhere_eq (f : nat -> content) k :
  [&& k \notin castle R, ~~ beside_castle k, ~~ beside_camp k, at_side R k d (fun c => f c == Black)
    & at_side R k (opposite d) (fun c => f c == Black)] = in_the_open k && black_at_both f k.
Proof. by rewrite /in_the_open -!andbA. Qed.
Definition elsewhere_space := kings_space in_the_open black_at_both line_cells.

Definition past_camp k :=
  [&& beside_camp k, at_side R k d (fun c => c \notin camps R) & at_side R k (opposite d) (fun c => c \notin camps R)].
Lemma past_camp_eq (f : nat -> content) k :
  [&& beside_camp k, at_side R k d (fun c => (f c == Black) && (c \notin camps R))
    & at_side R k (opposite d) (fun c => (f c == Black) && (c \notin camps R))] = past_camp k && black_at_both f k.
Proof.
rewrite !at_side_and /past_camp /black_at_both -!andbA; congr andb; rewrite andbCA; congr andb.
by rewrite andbA andbC.
Qed.
Definition past_camp_space := kings_space past_camp black_at_both line_cells.

End Direction.

Definition identity_number S := fixed_number S id (identity_cycles R).

(* The sum over the directions, from one number for each. *)
Lemma number_by_checked ds (Q : direction -> (nat -> content) -> bool) (S : direction -> space) e :
    (forall d e', number_is R (S d) e' -> number R (Q d) = e') ->
    all (fun d => good_space n (S d)) ds && good_cycles n id (identity_cycles R) &&
      N.eqb (foldr (fun d rest => N.add (identity_number (S d)) rest) 0%num ds) e ->
  number_by ds Q = e.
Proof.
move=> each /andP[/andP[good cyc] /N.eqb_spec <-]; elim: ds good => //= d ds IH /andP[good_d /IH ->].
congr N.add; apply: each; apply/and3P; split; [exact: good_d | exact: cyc | exact/N.eqb_spec].
Qed.

Theorem equation_11 : number_by directions taken_at_camp = 80234626852410989076948320%N.
Proof.
apply: (@number_by_checked _ _ at_camp_space) => [d e|]; last by_computation.
exact: (kings_number (@at_camp_eq d) (@black_at_local d)).
Qed.

Theorem equation_12 : number_by lines taken_elsewhere = 41019808636966473872687808%N.
Proof.
apply: (@number_by_checked _ _ elsewhere_space) => [d e|]; last by_computation.
exact: (kings_number (@elsewhere_eq d) (@black_at_both_local d)).
Qed.

(* The placements that no equation counts. *)
Theorem omitted : number_by lines taken_past_camp = 2929986331211890990906272%N.
Proof.
apply: (@number_by_checked _ _ past_camp_space) => [d e|]; last by_computation.
exact: (kings_number (@past_camp_eq d) (@black_at_both_local d)).
Qed.

Lemma formula_by_checked ds (Q : direction -> (nat -> content) -> bool) (S : direction -> space) c m high most taken
    (many : direction -> nat) :
    (forall d shapes, formula_is (S d) shapes taken 0 high most ->
      number R (Q d) = N.of_nat (\sum_(t <- shapes) t.1 * paper_sum t.2.1 t.2.2 0 high most)) ->
    all (fun d => formula_is (S d) [:: (many d, (c, m))] taken 0 high most) ds ->
  number_by ds Q = N.of_nat (sumn (map many ds) * paper_sum c m 0 high most).
Proof.
move=> each; elim: ds => [|d ds IH] //= /andP[ok_d /IH ->].
by rewrite (each d _ ok_d) one_shape mulnDl of_nat_add.
Qed.

Theorem formula_11 : number_by directions taken_at_camp = N.of_nat (20 * paper_sum 16 62 0 15 8).
Proof.
apply: (@formula_by_checked directions _ at_camp_space 16 62 15 8 1 (fun _ => 5)) => [d shapes|].
  exact: (kings_formula (@at_camp_eq d) (@black_at_local d)).
by_computation.
Qed.

Theorem formula_12 : number_by lines taken_elsewhere = N.of_nat (56 * paper_sum 16 61 0 14 8).
Proof.
apply: (@formula_by_checked lines _ elsewhere_space 16 61 14 8 2 (fun _ => 28)) => [d shapes|].
  exact: (kings_formula (@elsewhere_eq d) (@black_at_both_local d)).
by_computation.
Qed.

(* ---- Equations (13) and (14) ------------------------------------------------------------------------------------- *)

Definition all_final : N :=
  (number R (all_captured R) + number R (escaped R) + number R taken_on_castle + number R taken_beside_castle
   + number_by directions taken_at_camp + number_by lines taken_elsewhere)%num.

Lemma sum_of_six u v w x y z a b c d e f t : u = a -> v = b -> w = c -> x = d -> y = e -> z = f ->
  N.eqb (a +N b +N c +N d +N e +N f) t -> u +N v +N w +N x +N y +N z = t.
Proof. by move=> -> -> -> -> -> -> /N.eqb_spec. Qed.

Theorem equation_13 : all_final = 349995487139345220601397693%N.
Proof.
apply: (sum_of_six equation_7 equation_8 equation_9 equation_10 equation_11 equation_12); by_computation.
Qed.

Theorem equation_14 : (number R (undecided R) + all_final)%num = 1297884736395877627681061948%N.
Proof. exact: (sum_of_two equation_6_undecided equation_13 (erefl _)). Qed.

(* ---- The printed figures ----------------------------------------------------------------------------------------- *)

Lemma rounds x a digits exponent b : x = a -> rounds_to digits exponent a = b -> rounds_to digits exponent x = b.
Proof. by move=> ->. Qed.

Theorem figure_1 : rounds_to 1 41 (number R naive)%num = true. (* 1e41 *)
Proof. apply: (rounds equation_1); exact: (erefl _). Qed.
Theorem figure_3 : rounds_to 61 26 (number R camps_ignored)%num = true. (* 6.1e27 *)
Proof. apply: (rounds equation_3); exact: (erefl _). Qed.
Theorem figure_4 : rounds_to 3 25 (number R on_the_castle)%num = true. (* 3e25 *)
Proof. apply: (rounds equation_4); exact: (erefl _). Qed.
Theorem figure_5 : rounds_to 92 25 (number R off_the_castle)%num = true. (* 9.2e26 *)
Proof. apply: (rounds equation_5); exact: (erefl _). Qed.
Theorem figure_6 : rounds_to 95 25 (number R on_the_castle + number R off_the_castle)%num = true. (* 9.5e26 *)
Proof. apply: (rounds equation_6); exact: (erefl _). Qed.
Theorem figure_7 : rounds_to 20 10 (number R (all_captured R))%num = true. (* 2.0e11 *)
Proof. apply: (rounds equation_7); exact: (erefl _). Qed.
Theorem figure_8 : rounds_to 23 25 (number R (escaped R))%num = true. (* 2.3e26 *)
Proof. apply: (rounds equation_8); exact: (erefl _). Qed.
Theorem figure_9 : rounds_to 28 21 (number R taken_on_castle)%num = true. (* 2.8e22 *)
Proof. apply: (rounds equation_9); exact: (erefl _). Qed.
Theorem figure_10 : rounds_to 51 22 (number R taken_beside_castle)%num = true. (* 5.1e23 *)
Proof. apply: (rounds equation_10); exact: (erefl _). Qed.
Theorem figure_11 : rounds_to 80 24 (number_by directions taken_at_camp)%num = true. (* 8.0e25 *)
Proof. apply: (rounds equation_11); exact: (erefl _). Qed.
Theorem figure_12 : rounds_to 16 25 (number_by lines taken_elsewhere)%num = false. (* 1.6e26 *)
Proof. apply: (rounds equation_12); exact: (erefl _). Qed.
Theorem figure_13 : rounds_to 46 25 (all_final)%num = false. (* 4.6e26 *)
Proof. apply: (rounds equation_13); exact: (erefl _). Qed.
Theorem figure_14 : rounds_to 14 26 (number R (undecided R) + all_final)%num = false. (* 1.4e27 *)
Proof. apply: (rounds equation_14); exact: (erefl _). Qed.

(* The origin of the printed figures of (12) to (14): formula (12) with 15 instead of 14 as the largest number of black
   soldiers that do not take part in the capture. These are more soldiers than the game has. *)
Definition misprinted_12 : N := N.of_nat (56 * paper_sum 16 61 0 15 8).
Definition misprinted_13 : N :=
  (number R (all_captured R) + number R (escaped R) + number R taken_on_castle + number R taken_beside_castle
   + number_by directions taken_at_camp + misprinted_12)%num.

Theorem misprint_12 : misprinted_12 = 155406077871341583493971904%N.
Proof.
by rewrite /misprinted_12 -multE Nnat.Nat2N.inj_mul paper_sum_NP; apply/N.eqb_spec; by_computation.
Qed.
Theorem misprint_13 : misprinted_13 = 464381756373720330222681789%N.
Proof.
apply: (sum_of_six equation_7 equation_8 equation_9 equation_10 equation_11 misprint_12); by_computation.
Qed.
Theorem misprint_14 : (number R (undecided R) + misprinted_13)%num = 1412271005630252737302346044%N.
Proof. exact: (sum_of_two equation_6_undecided misprint_13 (erefl _)). Qed.
Theorem misprint_figures :
  [&& rounds_to 16 25 misprinted_12, rounds_to 46 25 misprinted_13
    & rounds_to 14 26 (number R (undecided R) + misprinted_13)].
Proof.
apply/and3P; split; [apply: (rounds misprint_12) | apply: (rounds misprint_13) | apply: (rounds misprint_14)];
by_computation.
Qed.

Lemma less x y a b : x = a -> y = b -> N.ltb a b -> N.lt x y.
Proof. by move=> -> -> /N.ltb_spec0. Qed.

(* Equations (9) to (12) count a king that is taken in two ways twice. Even with the placements that they omit, each
   placement once makes less. *)
Theorem captured_kings :
  (number R (king_captured R) < number R taken_on_castle + number R taken_beside_castle
     + number_by directions taken_at_camp + number_by lines taken_elsewhere)%num.
Proof.
have sums := sum_of_four equation_9 equation_10 equation_11 equation_12.
apply: (less corrected_king_captured (sums 121788480021615554562096728%N (erefl true))); by_computation.
Qed.
