(* Spaces: sets of placements that are given by king cells, allowed contents, material and a condition near the king.
   The number of placements in a space that a symmetry preserves, by computation; and classes by Burnside's lemma. *)

From mathcomp Require Import all_ssreflect all_fingroup.
From Coq Require Import NArith.
From Tablut Require Import definitions theory.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Record space := Space {
  kings : seq nat;                               (* cells of the king *)
  allow : nat -> seq content;                    (* possible contents of a cell without the king *)
  material : nat -> nat -> nat -> bool;          (* by king cell, black and white soldiers *)
  height : nat;                                  (* more than the largest number of black soldiers *)
  width : nat;                                   (* more than the largest number of white soldiers *)
  condition : (nat -> content) -> nat -> bool;   (* by placement and king cell *)
  watch : nat -> seq nat                         (* cells on which the condition depends, by king cell *)
}.

(* ---- Cycles of a map of the cells -------------------------------------------------------------------------------- *)

Lemma path_same (A : eqType) (g : nat -> nat) (f : nat -> A) h t :
  path (frel g) h t -> (forall c, c \in h :: t -> f (g c) = f c) -> {in t, forall c, f c = f h}.
Proof.
elim: t h => //= c t IH h /andP[/eqP <- pth] same c'; rewrite in_cons => /orP[/eqP ->|c't].
  by apply: same; rewrite mem_head.
by rewrite (IH _ pth) // ?same ?mem_head // => c'' in''; apply: same; rewrite in_cons in'' orbT.
Qed.

Lemma cycle_same (A : eqType) (g : nat -> nat) (f : nat -> A) b :
  fcycle g b -> (forall c, c \in b -> f (g c) = f c) -> {in b &, forall c c', f c = f c'}.
Proof.
case: b => // h t /= cyc same.
have all_h c : c \in h :: t -> f c = f h.
  rewrite in_cons => /orP[/eqP -> //|ct]; apply: (path_same cyc); last by rewrite mem_rcons in_cons ct orbT.
  by move=> c'; rewrite in_cons mem_rcons in_cons orbA orbb => ?; apply: same; rewrite in_cons.
by move=> c c' cb c'b; rewrite !all_h.
Qed.

Lemma cycle_closed (g : nat -> nat) b c : fcycle g b -> c \in b -> g c \in b.
Proof. by move=> cyc cb; rewrite (eqP (next_cycle cyc cb)) mem_next. Qed.

Lemma cycle_alone (g : nat -> nat) b k : uniq b -> fcycle g b -> k \in b -> g k = k -> {in b, forall c, c = k}.
Proof.
move=> ub cyc kb gk; have [i t rot_b] := rot_to kb.
move: ub cyc; rewrite -(rot_uniq i) -(rot_cycle i) rot_b => + + c; rewrite -(mem_rot i b) rot_b.
case: t {rot_b} => [|c' t] /=; first by move=> _ _; rewrite mem_seq1 => /eqP.
by rewrite in_cons gk => /andP[/norP[kc _] _] /andP[kc' _]; rewrite kc' in kc.
Qed.

Lemma card_sum (A : finType) (a : pred A) : #|[set x | a x]| = \sum_x (a x : nat).
Proof. by rewrite -sum1dep_card big_mkcond. Qed.

Section Spaces.
Variable n : nat.
Notation T := {ffun 'I_n -> content}.
Notation cells := (iota 0 n).

(* The cycles of a map whose fourth power is the identity, each from its least cell. *)
Definition cycles_of (g : nat -> nat) : seq (seq nat) :=
  [seq undup (traject g c 4) | c <- cells & all (leq c) (traject g c 4)].

Definition good_cycles (g : nat -> nat) (cyc : seq (seq nat)) :=
  [&& uniq (flatten cyc), all (mem (flatten cyc)) cells, all (fun c => c < n) (flatten cyc),
      all (fun b => b != [::]) cyc & all (fcycle g) cyc].

Definition fixed (g : nat -> nat) (f : nat -> content) := all (fun c => f (g c) == f c) cells.

(* ---- Membership -------------------------------------------------------------------------------------------------- *)

Definition in_space_at (S : space) (k : nat) (f : nat -> content) :=
  [&& f k == King, all (fun c => (c == k) || (f c \in allow S c)) cells,
      material S k (men n Black f) (men n White f) & condition S f k].
Definition in_space (S : space) (f : nat -> content) := has (fun k => in_space_at S k f) (kings S).

(* What has to be checked of a space by computation, and what has to be proved of it. *)
Definition good_space (S : space) :=
  [&& uniq (kings S), all (fun k => k < n) (kings S) & all (fun c => King \notin allow S c) cells].
Definition bounded (S : space) := forall k a d, material S k a d -> (a < height S) && (d < width S).
Definition local (S : space) :=
  forall k f h, f k = h k -> {in watch S k, f =1 h} -> condition S f k = condition S h k.

(* ---- The blocks around a king ------------------------------------------------------------------------------------ *)

Variables (S : space) (g : nat -> nat) (cyc : seq (seq nat)).

Definition options (b : seq nat) : seq content :=
  [seq x <- [:: Empty; Black; White] | all (fun c => x \in allow S c) b].
Definition blocks_around k : seq block := [seq (b, options b) | b <- cyc & k \notin b].
Definition is_watched k (b : block) := has (mem (watch S k)) b.1.
Definition code (b : block) : nat := size b.1 * 8 + sumn [seq content_number x * content_number x + 1 | x <- b.2].
Definition watched_blocks k := [seq b <- blocks_around k | is_watched k b].
(* Blocks of the same kind stand together, so that the numbers of ways are computed once for many king cells. *)
Definition other_blocks k := sort (fun b b' => code b <= code b') [seq b <- blocks_around k | ~~ is_watched k b].
Definition all_blocks k := watched_blocks k ++ other_blocks k.

Definition base_king (k : nat) : T := [ffun i => if val i == k then King else Empty].
Definition only_king (k c : nat) := if c == k then King else Empty.

Lemma reading_base k c : k < n -> reading (base_king k) c = only_king k c.
Proof.
rewrite /reading /only_king; case: insubP => [i _ <-|out lt]; first by rewrite ffunE.
by case: eqP => // ck; rewrite ck lt in out.
Qed.

Hypothesis good_S : good_space S.
Hypothesis good_cyc : good_cycles g cyc.
Hypothesis inside : {in cells, forall c, g c < n}.

Lemma all_blocks_perm k : perm_eq (all_blocks k) (blocks_around k).
Proof.
by rewrite perm_sym -(perm_filterC (is_watched k)) perm_sym perm_cat2l perm_sort.
Qed.

Lemma mem_blocks k c : c \in block_cells (all_blocks k) = has (fun b => (c \in b) && (k \notin b)) cyc.
Proof.
have /perm_mem eq_cells : perm_eq (block_cells (all_blocks k)) (block_cells (blocks_around k)).
  by rewrite /block_cells; apply/perm_flatten/perm_map/all_blocks_perm.
rewrite eq_cells /block_cells -map_comp map_id_in ?filter_id //.
apply/flattenP/hasP => [[b]|[b bc /andP[cb kb]]]; last by exists b; rewrite // mem_filter kb.
by rewrite mem_filter => /andP[kb bc] cb; exists b => //; rewrite cb.
Qed.

Lemma good_all_blocks k : good_blocks n (all_blocks k).
Proof.
case/and5P: good_cyc => u _ lt ne _.
have sub : subseq (block_cells (blocks_around k)) (flatten cyc).
  rewrite /block_cells -map_comp map_id_in //.
  elim: cyc => //= b rest IH; case: ifP => _ /=; first exact: cat_subseq.
  by apply: subseq_trans IH (suffix_subseq _ _).
rewrite /good_blocks; have eq_cells : perm_eq (block_cells (all_blocks k)) (block_cells (blocks_around k)).
  by rewrite /block_cells; apply/perm_flatten/perm_map/all_blocks_perm.
rewrite (perm_uniq eq_cells) (subseq_uniq sub u) (perm_all _ eq_cells) (perm_all _ (all_blocks_perm k))
  (perm_all _ (all_blocks_perm k)) /=.
apply/and3P; split; first by apply/allP => c /(mem_subseq sub); move: c; apply/allP.
  by apply/allP => b' /mapP[b]; rewrite mem_filter => /andP[_ /(allP ne) + ->].
by apply/allP => b' /mapP[b _ ->]; apply: filter_uniq.
Qed.

Section King.
Variable k : nat.
Hypotheses (king_cell : k \in kings S) (king_fixed : g k = k).

Lemma k_in : k < n. Proof. by case/and3P: good_S => _ /allP/(_ k king_cell). Qed.

Lemma mem_all_blocks c : c < n -> (c \in block_cells (all_blocks k)) = (c != k).
Proof.
move=> lt; rewrite mem_blocks; case/and5P: good_cyc => u all_c _ _ fc.
have cn : c \in cells by rewrite mem_iota.
have /flattenP[b bc cb] := allP all_c c cn.
apply/hasP/idP => [[b' b'c /andP[cb' kb']]|ck]; first by apply: contraNneq kb' => <-.
exists b => //; rewrite cb; apply: contra ck => kb; apply/eqP.
have ub : uniq b.
  by move: u; case/splitPr: bc => s t; rewrite flatten_cat /= !cat_uniq => /and3P[_ _ /and3P[]].
exact: (cycle_alone ub (allP fc b bc) kb king_fixed).
Qed.

Lemma in_space_filling (p : T) :
  in_space_at S k (reading p) && fixed g (reading p) =
  (p \in fillings [:: base_king k] (all_blocks k)) &&
    (material S k (men n Black (reading p)) (men n White (reading p)) && condition S (reading p) k).
Proof.
have kn := k_in; case/and3P: good_S => _ _ /allP no_king.
case/and5P: (good_cyc) => u all_c _ ne fc.
rewrite (mem_fillings _ _ (good_all_blocks k)) /in_space_at.
set m := material _ _ _ _; set cond := condition _ _ _.
case: m; last by rewrite !andbF.
case: cond; last by rewrite !andbF.
rewrite !andbT; apply/andP/andP => [[/andP[/eqP pk /allP all_allowed] /allP fix_p]|[/allP fit_p /allP other]].
  have allowed c : c < n -> c != k -> reading p c \in allow S c.
    by move=> lt /negPf ck; move: (all_allowed c); rewrite mem_iota lt ck => /(_ isT).
  split; last first.
    apply/allP => c; rewrite mem_iota => /= lt; rewrite mem_all_blocks // reading_base // /only_king.
    by case: eqP => // ->; rewrite pk.
  apply/allP => b'; rewrite (perm_mem (all_blocks_perm k)) => /mapP[b]; rewrite mem_filter => /andP[kb bc] -> /=.
  case: b bc kb => [/(allP ne)//|h t] bc kb; set b := h :: t.
  have b_lt c : c \in b -> c < n.
    by move=> cb; case/and5P: good_cyc => _ _ /allP lt _ _; apply: lt; apply/flattenP; exists b.
  have b_k c : c \in b -> c != k by move=> cb; apply: contraNneq kb => <-.
  have same c : c \in b -> reading p c = reading p h.
    move=> cb; apply: (cycle_same (allP fc b bc)) => //; last exact: mem_head.
    by move=> c' c'b; apply/eqP/fix_p; rewrite mem_iota /= b_lt.
  apply/hasP; exists (reading p h); last by apply/allP => c cb; rewrite same.
  rewrite mem_filter; apply/andP; split; first by apply/allP => c cb; rewrite -(same c cb) allowed ?b_lt ?b_k.
  have hb : h \in b by apply: mem_head.
  move: (allowed h (b_lt h hb) (b_k h hb)) (no_king h); rewrite mem_iota b_lt // => + /(_ isT).
  by case: (reading p h) => // ->.
have in_block c : c < n -> c != k -> exists2 b, b \in cyc & c \in b /\ exists2 x, x \in options b & {in b, forall c',
  reading p c' = x}.
  move=> lt ck; move: (mem_all_blocks lt); rewrite ck mem_blocks => /hasP[b bc /andP[cb kb]]; exists b => //;
    split=> //.
  have bin : (b, options b) \in all_blocks k.
    by rewrite (perm_mem (all_blocks_perm k)); apply: map_f; rewrite mem_filter kb.
  by have /hasP[/= x xo /allP same] := fit_p _ bin; exists x => // c' /same /eqP.
have pk : reading p k = King.
  move: (other k); rewrite mem_iota kn mem_all_blocks // eqxx reading_base // /only_king eqxx => /(_ isT) /eqP ->.
  by [].
split; first rewrite pk eqxx /=; apply/allP => c; rewrite mem_iota => /= lt.
  case: eqP => //= /eqP ck; have [b bc [cb [x xo same]]] := in_block c lt ck.
  by rewrite same //; move: xo; rewrite mem_filter => /andP[/allP/(_ c cb)].
case: (eqVneq c k) => [->|ck]; first by rewrite king_fixed.
have [b bc [cb [x xo same]]] := in_block c lt ck.
by rewrite !same // cycle_closed // (allP fc).
Qed.

Hypotheses (bounded_S : bounded S) (local_S : local S).

Lemma card_at :
  #|[set p : T | in_space_at S k (reading p) && fixed g (reading p)]| =
  \sum_(l <- leaves (watched_blocks k) | condition S (overlay l (only_king k)) k)
    \sum_(a <- iota 0 (height S)) \sum_(d <- iota 0 (width S) | material S k (weight Black l + a) (weight White l + d))
      ways (map kind_of (other_blocks k)) a d.
Proof.
have kn := k_in; have good := good_all_blocks k.
transitivity (count (fun p => material S k (men n Black (reading p)) (men n White (reading p))
    && condition S (reading p) k) (fillings [:: base_king k] (all_blocks k))).
  rewrite -size_filter -(card_uniqP (filter_uniq _ (uniq_fillings (base_king k) good))) cardsE.
  by apply: eq_card => p; rewrite [RHS]mem_filter andbC -in_space_filling.
have men_base x : x != King -> x != Empty -> men n x (reading (base_king k)) = 0.
  move=> xk xe; apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn => c _; rewrite reading_base // /only_king.
  by case: ifP => _; rewrite eq_sym.
rewrite (count_conditioned (M := material S k) (C := fun f =>
  condition S f k) (height := height S) (width := width S)) //;
  try exact: men_base; try exact: bounded_S.
- apply: eq_big => // l; apply: local_S => [|c cw].
    rewrite /overlay; elim: l => [|bx l IH] /=; first by rewrite reading_base.
    by rewrite IH.
  by rewrite /overlay; elim: l => [|bx l IH] /=; [rewrite reading_base | rewrite IH].
- move=> c cb; have lt : c < n by case/and4P: good => _ /allP/(_ c cb).
  by move: cb; rewrite mem_all_blocks // reading_base // /only_king => /negPf ->.
move=> f h eq_w eq_out; apply: local_S; first by apply: eq_out; rewrite mem_all_blocks // eqxx.
move=> c cw; case cb: (c \in block_cells (all_blocks k)); last by apply: eq_out; rewrite cb.
apply: eq_w; move: cb; rewrite mem_blocks => /hasP[b bc /andP[cb kb]].
apply/flattenP; exists b => //; apply/mapP; exists (b, options b) => //.
rewrite mem_filter; apply/andP; split; first by apply/hasP; exists c.
by apply: map_f; rewrite mem_filter kb.
Qed.

End King.

(* ---- The number of placements in a space that a map preserves ---------------------------------------------------- *)

Definition number_at (kinds : seq kind) (k : nat) : nat :=
  \sum_(l <- leaves (watched_blocks k) | condition S (overlay l (only_king k)) k)
    \sum_(a <- iota 0 (height S)) \sum_(d <- iota 0 (width S) | material S k (weight Black l + a) (weight White l + d))
      ways kinds a d.

(* One king cell at a time: a preserved placement has its king on a cell that the map preserves. *)
Theorem card_space : bounded S -> local S ->
  #|[set p : T | in_space S (reading p) && fixed g (reading p)]| =
  \sum_(k <- kings S | g k == k) number_at (map kind_of (other_blocks k)) k.
Proof.
move=> bounded_S local_S; case/and3P: (good_S) => u_kings /allP lt_kings /allP no_king.
have kings_k (p : T) k c : in_space_at S k (reading p) -> k \in kings S -> c < n -> reading p c = King -> c = k.
  move=> /and4P[_ /allP/(_ c) + _ _] _ lt pc; rewrite mem_iota lt pc => /(_ isT) /orP[/eqP //|].
  by rewrite (negPf (no_king c _)) // mem_iota.
have at_king (p : T) k : in_space_at S k (reading p) -> reading p k = King by case/and4P=> /eqP.
transitivity (\sum_(k <- kings S | g k == k) #|[set p : T | in_space_at S k (reading p) && fixed g (reading p)]|);
  last first.
  rewrite -!(big_filter _ (fun k => g k == k)); apply: eq_big_seq => k; rewrite mem_filter => /andP[/eqP gk kS].
  exact: card_at.
rewrite card_sum; under [RHS]eq_bigr do rewrite card_sum; rewrite [RHS]exchange_big /=.
apply: eq_bigr => p _; case: andP => [[/hasP[k kS at_k] fix_p]|no] /=.
  have gk : g k = k.
    have kn := lt_kings k kS; have kc : k \in cells by rewrite mem_iota.
    apply: (kings_k p k (g k) at_k kS (inside kc)); rewrite (eqP (allP fix_p k kc)); exact: at_king.
  rewrite big_mkcond (bigD1_seq k) //= gk eqxx at_k fix_p big1_seq // => k' /andP[k'k k'S].
  case: ifP => // _; apply/eqP; rewrite eqb0; apply/negP => /andP[/at_king at_k' _]; case/eqP: k'k.
  exact: (kings_k p k k' at_k kS (lt_kings k' k'S) at_k').
rewrite big1_seq // => k /andP[_ kS]; apply/eqP; rewrite eqb0; apply/negP => /andP[at_k fix_p]; case: no.
by split=> //; apply/hasP; exists k.
Qed.

Definition leaf_number (k : nat) (t : grid) (l : seq (seq nat * content)) : N :=
  let b := weight Black l in let w := weight White l in
  sum_N (iota 0 (height S)) predT (fun a => sum_N (iota 0 (width S)) (fun d => material S k (b + a) (w
    + d)) (entry t a)).

Definition fixed_number : N :=
  let around := [seq (k, map kind_of (other_blocks k)) | k <- kings S & g k == k] in
  sum_N (undup [seq e.2 | e <- around]) predT (fun kinds =>
    let t := ways_grid (height S) (width S) kinds in
    sum_N around (fun e => e.2 == kinds) (fun e =>
      sum_N (leaves (watched_blocks e.1)) (fun l => condition S (overlay l (only_king e.1)) e.1) (leaf_number e.1 t))).

Theorem fixed_numberP : bounded S -> local S ->
  N.of_nat #|[set p : T | in_space S (reading p) && fixed g (reading p)]| = fixed_number.
Proof.
move=> bounded_S local_S; rewrite card_space //.
rewrite /fixed_number; set ks := [seq k <- kings S | g k == k].
set around := [seq (k, map kind_of (other_blocks k)) | k <- ks].
transitivity (N.of_nat (\sum_(kinds <- undup [seq e.2 | e <- around]) \sum_(e <- around | e.2 == kinds) number_at
  kinds e.1)).
  congr N.of_nat; rewrite -big_filter -/ks.
  transitivity (\sum_(e <- around) number_at e.2 e.1).
    by rewrite big_map.
  under [RHS]eq_bigr do rewrite big_mkcond; rewrite exchange_big /=; apply: eq_big_seq => e e_in.
  rewrite (bigD1_seq e.2) ?undup_uniq ?mem_undup ?map_f //= eqxx big1 ?addn0 // => kinds.
  by rewrite eq_sym => /negPf ->.
apply/esym/sum_NP => kinds _ _; apply: sum_NP => e _ _; apply: sum_NP => l _ _; apply: sum_NP => a a_in _.
apply: sum_NP => d d_in _; have [_ -> //] := ways_gridP (height S) (width S) kinds.
  by move: a_in; rewrite mem_iota.
by move: d_in; rewrite mem_iota.
Qed.

End Spaces.
