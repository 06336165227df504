(* Closed forms: numbers of ways to place soldiers on camp cells and open cells, as binomials and as the multinomials of
   Galassi's paper. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* The kinds of single cells: open to all soldiers, open to black soldiers (a camp), closed to soldiers. *)
Definition open_kind : kind := (1, [:: Empty; Black; White]).
Definition camp_kind : kind := (1, [:: Empty; Black]).
Definition closed_kind : kind := (1, [:: Empty]).
Definition single_kinds := [:: open_kind; camp_kind; closed_kind].

(* The white soldiers first, on m open cells; then the black ones, on c camp cells and the open cells that are left. *)
Definition arrangements (c m b w : nat) : nat := 'C(m, w) * 'C(c + m - w, b).

Lemma arrangements_camp c m b w :
  arrangements c.+1 m b w = arrangements c m b w + (if 0 < b then arrangements c m b.-1 w else 0).
Proof.
rewrite /arrangements; case: (leqP w m) => [le|gt]; last by rewrite bin_small // mul0n; case: ifP.
have -> : c.+1 + m - w = (c + m - w).+1 by rewrite addSn subSn // (leq_trans le) // leq_addl.
by case: b => [|b] /=; rewrite ?bin0 ?addn0 // binS mulnDr addnC.
Qed.

Lemma arrangements_open c m b w :
  arrangements c m.+1 b w = arrangements c m b w + (if 0 < b then arrangements c m b.-1 w else 0)
                            + (if 0 < w then arrangements c m b w.-1 else 0).
Proof.
rewrite -arrangements_camp /arrangements addSn addnS; case: w => [|w] /=; first by rewrite !bin0 addn0.
rewrite subSS binS mulnDl; congr (_ + _); rewrite ?subSS //.
Qed.

Lemma ways_arrangements ks b w : all (mem single_kinds) ks ->
  ways ks b w = arrangements (count_mem camp_kind ks) (count_mem open_kind ks) b w.
Proof.
elim: ks b w => [|k ks IH] b w /=.
  by rewrite /arrangements /= add0n; case: w => [|w]; case: b.
rewrite !inE => /andP[/or3P[] /eqP -> /IH{}IH]; rewrite /= ?eqxx /=.
- rewrite !big_cons big_nil !IH /= add1n add0n addn0 arrangements_open; case: b => [|b]; case: w => [|w];
  by rewrite /= ?subn1 ?IH ?addn0 ?addnA.
- rewrite !big_cons big_nil !IH /= add1n add0n addn0 arrangements_camp.
  by case: b => [|b]; rewrite /= ?subn1 ?IH.
by rewrite big_cons big_nil IH addn0.
Qed.

(* ---- The permutations with repetition of equation (2) ------------------------------------------------------------ *)

(* n! / (b! w! e!), where e cells stay empty; 0 if the soldiers do not fit. *)
Definition P (n b w : nat) : nat := if b + w <= n then n`! %/ (b`! * w`! * (n - (b + w))`!) else 0.

Lemma P_binomials n b w : P n b w = 'C(n, w) * 'C(n - w, b).
Proof.
rewrite /P; case: leqP => [le|gt]; last first.
  case: (leqP w n) => [wn|nw]; last by rewrite bin_small.
  by rewrite ['C(n - w, b)]bin_small ?muln0 // ltn_subLR // addnC.
have wn : w <= n by apply: leq_trans le; apply: leq_addl.
have bn : b <= n - w by rewrite leq_subRL // addnC.
have e : n - (b + w) = n - w - b by rewrite addnC subnDA.
have fact_n : n`! = 'C(n, w) * 'C(n - w, b) * (b`! * w`! * (n - (b + w))`!).
  rewrite e -(bin_fact wn) -(bin_fact bn) -!mulnA; congr (_ * _).
  by rewrite mulnCA; congr (_ * _); rewrite mulnCA.
by rewrite fact_n mulnK // !muln_gt0 !fact_gt0.
Qed.

(* The paper's sums, for c camp cells and m open cells: over b black soldiers, of which j stand in camps. *)
Lemma triple_sum c m b w : \sum_(j < b.+1) P c j 0 * P m (b - j) w = arrangements c m b w.
Proof.
rewrite /arrangements; under eq_bigr => j _ do rewrite !P_binomials bin0 mul1n subn0 mulnCA.
rewrite -big_distrr /=; case: (leqP w m) => [le|gt]; last by rewrite bin_small.
by rewrite Vandermonde addnBA.
Qed.

Definition paper_sum (c m low high most : nat) : nat :=
  \sum_(low <= b < high.+1) \sum_(0 <= w < most.+1) \sum_(j < b.+1) P c j 0 * P m (b - j) w.

Lemma paper_sumE c m low high most :
  paper_sum c m low high most = \sum_(low <= b < high.+1) \sum_(0 <= w < most.+1) arrangements c m b w.
Proof. by apply: eq_bigr => b _; apply: eq_bigr => w _; apply: triple_sum. Qed.

(* Equation (2): the number of ways to give each of n cells a content, such that b are black, w white and the others
   empty. *)
Theorem multinomial n b w :
  #|[set p : {ffun 'I_n -> content} | [&& men n King (reading p) == 0, men n Black (reading p) == b
                                        & men n White (reading p) == w]]| = P n b w.
Proof.
pose bs : seq block := [seq ([:: c], [:: Empty; Black; White]) | c <- iota 0 n].
pose base : {ffun 'I_n -> content} := [ffun => Empty].
have cells_bs : block_cells bs = iota 0 n by rewrite /block_cells /bs -map_comp flatten_seq1.
have good : good_blocks n bs.
  rewrite /good_blocks cells_bs iota_uniq /= !all_map; apply/and3P; split; try exact/allP.
  by apply/allP => c; rewrite mem_iota.
have base_empty c : reading base c = Empty.
  by rewrite /reading; case: insub => // i; rewrite ffunE.
have no_men x : x != Empty -> men n x (reading base) = 0.
  move=> nx; apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn => c _.
  by rewrite base_empty eq_sym.
have kinds : map kind_of bs = nseq n open_kind.
  by rewrite /bs -map_comp -[in RHS](size_iota 0 n); elim: (iota 0 n) => //= c cs ->.
transitivity (count (fun p => (men n Black (reading p) == b)
  && (men n White (reading p) == w)) (fillings [:: base] bs)).
  rewrite -size_filter -(card_uniqP (filter_uniq _ (uniq_fillings base good))) cardsE.
  apply: eq_card => p; rewrite [RHS]mem_filter [RHS]andbC unfold_in; congr (_ && _).
  rewrite mem_fillings // cells_bs [X in _ && X](_ : _ = true) ?andbT; last by apply/allP => c ->.
  rewrite /men eqn0Ngt -has_count /fits all_map -all_predC; apply: eq_all => c /=.
  by rewrite !andbT orbF; case: (reading p c).
rewrite count_material ?no_men //.
rewrite kinds ways_arrangements ?all_nseq ?orbT // /arrangements !count_nseq P_binomials.
by rewrite /= ?mul0n ?mul1n ?add0n.
Qed.

(* ---- Spaces that one of the paper's sums counts ------------------------------------------------------------------ *)

Section Sums.
Variables (n : nat) (S : space) (cyc : seq (seq nat)) (shapes : seq (nat * (nat * nat))) (taken low high most : nat).
Notation kinds k := (map kind_of (other_blocks S cyc k)).

(* For every king cell: only single cells around it, one way to fill the cells near the king, with `taken` black
   soldiers, and otherwise from `low` to `high` black and at most `most` white soldiers. *)
Definition summed_at k : bool :=
  [&& all (mem single_kinds) (kinds k),
      [seq (weight Black l, weight White l)
        | l <- leaves (watched_blocks S cyc k) & condition S (overlay l (only_king k)) k] == [:: (taken, 0)]
    & all (fun a => all (fun d => material S k (taken + a) d == (low <= a <= high)) (iota 0 (width S)))
        (iota 0 (height S))].
(* Of the king cells, t.1 have t.2.1 camp cells and t.2.2 open cells around them, for each t in `shapes`. *)
Definition shape_at k : nat * nat := (count_mem camp_kind (kinds k), count_mem open_kind (kinds k)).
Definition summed : bool :=
  [&& all summed_at (kings S), perm_eq (map shape_at (kings S)) (flatten [seq nseq t.1 t.2 | t <- shapes]),
      [seq a <- iota 0 (height S) | low <= a <= high] == index_iota low high.+1 & width S == most.+1].

Theorem card_summed :
    good_space n S -> good_cycles n id cyc -> bounded S -> local S -> summed ->
  #|[set p : {ffun 'I_n -> content} | in_space n S (reading p)]|
  = \sum_(t <- shapes) t.1 * paper_sum t.2.1 t.2.2 low high most.
Proof.
move=> good_S good_cyc bounded_S local_S /and4P[/allP ok shapes_ok /eqP range /eqP columns].
have inside : {in iota 0 n, forall c' : nat, id c' < n} by move=> c'; rewrite mem_iota.
transitivity #|[set p : {ffun 'I_n -> content} | in_space n S (reading p) && fixed n id (reading p)]|.
  apply: eq_card => p; rewrite !inE -[LHS]andbT; congr andb; apply/esym/allP => c' _; exact: eqxx.
rewrite (card_space good_S good_cyc inside bounded_S local_S).
under eq_bigl do rewrite eqxx.
transitivity (\sum_(x <- map shape_at (kings S)) paper_sum x.1 x.2 low high most); last first.
  rewrite (perm_big _ shapes_ok) big_flatten big_map; apply: eq_bigr => t _.
  by elim: t.1 => [|m IH] /=; rewrite ?big_nil ?big_cons ?mul0n // IH mulSn.
rewrite big_map; apply: eq_big_seq => k /ok /and3P[single /eqP leaf /allP mat].
rewrite paper_sumE /number_at -big_filter.
rewrite -(big_map (fun l => (weight Black l, weight White l)) predT (fun t => \sum_(a <- iota 0 (height S))
  \sum_(d <- iota 0 (width S) | material S k (t.1 + a) (t.2 + d)) ways (kinds k) a d)) leaf big_seq1 /=.
transitivity (\sum_(a <- iota 0 (height S) | low <= a <= high)
    \sum_(0 <= d < most.+1) arrangements (shape_at k).1 (shape_at k).2 a d); last by rewrite -big_filter range.
rewrite [RHS]big_mkcond /=; apply: eq_big_seq => a a_in; have /allP mat_a := mat a a_in.
rewrite columns /index_iota subn0 in mat_a *; rewrite big_mkcond /=.
case: ifP => inside_range; last first.
  by rewrite big_seq big1 // => d d_in; rewrite add0n (eqP (mat_a d d_in)) inside_range.
by apply: eq_big_seq => d d_in; rewrite add0n (eqP (mat_a d d_in)) inside_range ways_arrangements.
Qed.

End Sums.

(* The value of one of the paper's sums, on binary numbers. *)
Definition paper_sum_N (c m low high most : nat) : N :=
  let t := ways_grid high.+1 most.+1 (nseq m open_kind ++ nseq c camp_kind) in
  sum_N (index_iota low high.+1) predT (fun b => sum_N (iota 0 most.+1) predT (entry t b)).

Lemma paper_sum_NP c m low high most : N.of_nat (paper_sum c m low high most) = paper_sum_N c m low high most.
Proof.
rewrite paper_sumE /paper_sum_N; apply/esym/sum_NP => b; rewrite mem_index_iota => /andP[_ b_lt] _.
rewrite /index_iota subn0; apply: sum_NP => w; rewrite mem_iota => /= w_lt _.
have [_ ->] // := ways_gridP high.+1 most.+1 (nseq m open_kind ++ nseq c camp_kind).
rewrite ways_arrangements ?all_cat ?all_nseq ?orbT // !count_cat !count_nseq /=.
by rewrite !mul0n !mul1n addn0 add0n.
Qed.

(* ---- Any contents in each cell: a product ------------------------------------------------------------------------ *)

Theorem card_product n (L : nat -> seq content) : {in iota 0 n, forall c, uniq (L c)} ->
  N.of_nat #|[set p : {ffun 'I_n -> content} | all (fun c => reading p c \in L c) (iota 0 n)]|
  = foldr (fun c rest => N.mul (N.of_nat (size (L c))) rest) 1%num (iota 0 n).
Proof.
move=> L_uniq; pose bs : seq block := [seq ([:: c], L c) | c <- iota 0 n].
pose base : {ffun 'I_n -> content} := [ffun => Empty].
have cells_bs : block_cells bs = iota 0 n by rewrite /block_cells /bs -map_comp flatten_seq1.
have good : good_blocks n bs.
  rewrite /good_blocks cells_bs iota_uniq /= !all_map; apply/and3P; split; try exact/allP.
  by apply/allP => c; rewrite mem_iota.
transitivity (N.of_nat (size (fillings [:: base] bs))).
  congr N.of_nat; rewrite -(card_uniqP (uniq_fillings base good)) cardsE; apply: eq_card => p; rewrite unfold_in.
  rewrite mem_fillings // cells_bs [X in _ && X](_ : _ = true) ?andbT; last by apply/allP => c ->.
  rewrite /fits all_map; apply: eq_all => c /=.
  apply/idP/hasP => [in_L|[x x_in]]; last by rewrite andbT => /eqP ->.
  by exists (reading p c); rewrite ?eqxx.
rewrite /bs; elim: (iota 0 n) => //= c cs IH.
rewrite size_allpairs -multE Nnat.Nat2N.inj_mul; congr N.mul; exact: IH.
Qed.
