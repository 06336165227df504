(* Classes of placements under the symmetries of the square, counted by Burnside's lemma. *)

From mathcomp Require Import all_ssreflect all_fingroup.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- The group of the square ------------------------------------------------------------------------------------- *)

Definition dihedral : Type := symmetry.
Canonical dihedral_eqType := [eqType of dihedral].
Canonical dihedral_choiceType := [choiceType of dihedral].
Canonical dihedral_countType := [countType of dihedral].
Canonical dihedral_finType := [finType of dihedral].

(* First h, then g. *)
Definition compose (g h : dihedral) : dihedral :=
  let: (a, b, e) := g in let: (a', b', e') := h in
  if e' then (a' (+) b, b' (+) a, ~~ e) else (a' (+) a, b' (+) b, e).
Definition unit : dihedral := (false, false, false).
Definition inverse (g : dihedral) : dihedral := let: (a, b, e) := g in if e then (b, a, e) else g.

Lemma composeA : associative compose.
Proof. by do 3!case=> [[[] []] []]. Qed.
Lemma compose1 : left_id unit compose.
Proof. by case=> [[[] []] []]. Qed.
Lemma composeV : left_inverse unit inverse compose.
Proof. by case=> [[[] []] []]. Qed.
Canonical dihedral_baseFinGroupType := BaseFinGroupType dihedral (FinGroup.Mixin composeA compose1 composeV).
Canonical dihedral_finGroupType := FinGroupType composeV.

Definition all_symmetries : seq symmetry :=
  [seq (ab, e) | ab <- [seq (a, b) | a <- [:: false; true], b <- [:: false; true]], e <- [:: false; true]].

Lemma moved_lt m g c : c < m * m -> moved m g c < m * m.
Proof.
case: m => [|m] // lt; case: g => [[a b] e]; rewrite /moved /=.
have x_lt : (if a then m - c %% m.+1 else c %% m.+1) < m.+1.
  by case: a; rewrite ?ltn_pmod // ltnS leq_subr.
have y_lt : (if b then m - c %/ m.+1 else c %/ m.+1) < m.+1.
  by case: b; [rewrite ltnS leq_subr | rewrite ltn_divLR].
have combine x y : x < m.+1 -> y < m.+1 -> x + m.+1 * y < m.+1 * m.+1.
  move=> lx ly; apply: (@leq_trans (m.+1 + m.+1 * y)); first by rewrite ltn_add2r.
  by rewrite -mulnS leq_mul2l ly orbT.
by case: e; apply: combine.
Qed.

Lemma moved_compose m g h c : c < m * m -> moved m (compose g h) c = moved m g (moved m h c).
Proof.
case: m => [|m] // lt.
have: c %% m.+1 < m.+1 by rewrite ltn_pmod.
have: c %/ m.+1 < m.+1 by rewrite ltn_divLR.
have at_file x y : x < m.+1 -> (x + m.+1 * y) %% m.+1 = x by move=> lx; rewrite addnC mulnC modnMDl modn_small.
have at_rank x y : x < m.+1 -> (x + m.+1 * y) %/ m.+1 = y by move=> lx;
  rewrite addnC mulnC divnMDl // divn_small // addn0.
rewrite /moved /=; move: (c %/ m.+1) (c %% m.+1) => y x ly lx.
have [fx fy] : m - x < m.+1 /\ m - y < m.+1 by rewrite !ltnS !leq_subr.
case: g h => [[a b] e] [[a' b'] e'].
by case: e'; case: a'; case: b'; rewrite !at_file // !at_rank //; case: e; case: a; case: b; rewrite /= ?subKn.
Qed.

Lemma leaves_map (f : nat -> content) xs cs : {in cs, forall c, f c \in xs} ->
  [seq ([:: c], f c) | c <- cs] \in leaves [seq ([:: c], xs) | c <- cs].
Proof.
elim: cs => //= c cs IH ok; apply/flatten_mapP; exists (f c); first by apply: ok; rewrite mem_head.
by apply: map_f; apply: IH => d ds; apply: ok; rewrite in_cons ds orbT.
Qed.

Lemma overlay_map (f h : nat -> content) cs c :
  overlay [seq ([:: d], f d) | d <- cs] h c = if c \in cs then f c else h c.
Proof. by elim: cs => //= d cs IH; rewrite mem_seq1 in_cons; case: eqP => [->|_] //=. Qed.

Section Classes.
Variable R : ruleset.
Notation m := (side R).
Notation n := (m * m).
Notation T := (placement R).

Lemma reading_turned g (p : T) c : c < n -> reading (turned g p) c = reading p (moved m g c).
Proof. by move=> lt; rewrite -[c]/(val (Ordinal lt)) reading_val ffunE. Qed.

Definition to (p : T) (g : dihedral) : T := turned g p.

Lemma to1 : to^~ 1%g =1 id.
Proof.
move=> p; apply: reading_inj => c lt; rewrite reading_turned //; congr reading.
have [m0 ->] : exists m0, m = m0.+1 by case: m lt => // m0 _; exists m0.
by rewrite /moved /= addnC mulnC -divn_eq.
Qed.

Lemma toM (p : T) : act_morph to p.
Proof.
move=> g h; apply: reading_inj => c lt.
by rewrite !reading_turned ?moved_lt // moved_compose.
Qed.

Canonical turning := TotalAction to1 toM.

(* A property that the symmetries preserve. *)
Definition preserved (Q : (nat -> content) -> bool) := forall (g : symmetry) (p : T), Q (reading p) ->
  Q (reading (turned g p)).

Theorem classes_burnside (Q : (nat -> content) -> bool) (fixed_numbers : symmetry -> N) :
    preserved Q ->
    (forall g, N.of_nat #|[set p : T | Q (reading p) && fixed n (moved m g) (reading p)]| = fixed_numbers g) ->
  classes R Q = N.div (sum_N all_symmetries predT fixed_numbers) 8.
Proof.
move=> stable fix_numbers; set A := [set p : T | Q (reading p)].
have acts : [acts [set: dihedral], on A | turning].
  by apply/subsetP => g _; rewrite !inE /=; apply/subsetP => p; rewrite !inE; apply: stable.
have := Frobenius_Cauchy acts.
have -> : #|[set: dihedral]| = 8 by rewrite cardsT !card_prod card_bool.
have -> : #|orbit turning [set: dihedral] @: A| = #|[set class_of p | p in A]|.
  congr #|pred_of_set _|; apply: eq_imset => p; apply/setP => q.
  by apply/imsetP/imsetP => -[g _ ->]; exists g.
move=> burnside; rewrite /classes -/A; apply: N.div_unique_exact => //.
rewrite N.mul_comm -[8%num]/(N.of_nat 8) -Nnat.Nat2N.inj_mul multE -burnside.
transitivity (N.of_nat (\sum_(g <- all_symmetries) #|[set p : T | Q (reading p) && fixed n (moved m g) (reading p)]|)).
  by apply: sum_NP => g _ _; rewrite fix_numbers.
congr N.of_nat; rewrite big_uniq //; apply: eq_big => [g|g _]; first by rewrite in_setT; case: g => [[[] []] []].
congr #|pred_of_set _|; apply/setP => p; rewrite !inE sub1set inE; congr (_ && _); apply/allP/eqP => [same|same c].
  by apply: reading_inj => c lt; rewrite reading_turned //; apply/eqP/same; rewrite mem_iota.
by rewrite mem_iota => /= lt; rewrite -reading_turned // -[in X in _ == X]same.
Qed.

(* ---- Spaces that the symmetries preserve ------------------------------------------------------------------------- *)

Variable S : space.

(* Whether a symmetry preserves a space, decided cell by cell and by all contents of the cells near the king. *)
Definition nearby k : seq block := [seq ([:: c], [:: Empty; Black; White]) | c <- undup (watch S k) & c != k].
Definition king_preserved g k :=
  let k' := moved m (inverse g) k in
  [&& k' \in kings S, all (fun c => c < n) (watch S k'),
      all (fun c => (moved m g c == k) || (moved m g c \in watch S k)) (watch S k'),
      all (fun a => all (fun d => material S k a d == material S k' a d) (iota 0 (width S))) (iota 0 (height S))
    & all (fun l => let f := overlay l (only_king k) in condition S f k == condition S (fun c => f (moved m g c)) k')
        (leaves (nearby k))].
(* Two symmetries generate the others: the flip of the files, and the exchange of files and ranks. *)
Definition generators : seq symmetry := [:: (true, false, false); (false, false, true)].
Definition space_preserved :=
  all (fun g => all (king_preserved g) (kings S) && all (fun c => allow S (moved m g c) == allow S c) (iota 0 n))
    generators.

Lemma moved_inverse g c : c < n -> moved m g (moved m (inverse g) c) = c.
Proof.
move=> lt; rewrite -moved_compose //; have -> : compose g (inverse g) = unit by case: g => [[[] []] []].
by have := to1 [ffun i => if val i == c then King else Empty]; move=> _; rewrite /moved /= addnC mulnC -divn_eq.
Qed.

Lemma inverse_moved g c : c < n -> moved m (inverse g) (moved m g c) = c.
Proof. by move=> lt; have {2}<- : inverse (inverse g) = g; [case: g => [[[] []] []] | rewrite moved_inverse]. Qed.

Lemma men_turned x g (p : T) : men n x (reading (turned g p)) = men n x (reading p).
Proof.
rewrite /men; transitivity (count (fun c => reading p c == x) [seq moved m g c | c <- iota 0 n]).
  by rewrite count_map; apply: eq_in_count => c; rewrite mem_iota => /= lt; rewrite reading_turned.
suff /seq.permP -> : perm_eq [seq moved m g c | c <- iota 0 n] (iota 0 n) by [].
apply: uniq_perm; rewrite ?iota_uniq //.
  rewrite map_inj_in_uniq ?iota_uniq // => c d; rewrite !mem_iota => /= lc ld eq.
  by rewrite -(inverse_moved g lc) eq inverse_moved.
move=> c; rewrite mem_iota; apply/mapP/idP => [[d + ->]|/= lt]; first by rewrite mem_iota => /= lt; apply: moved_lt.
by exists (moved m (inverse g) c); rewrite ?mem_iota ?moved_lt ?moved_inverse.
Qed.

Definition preserved_by (g : symmetry) (Q : (nat -> content) -> bool) :=
  forall p : T, Q (reading p) -> Q (reading (turned g p)).

Lemma generated (Q : (nat -> content) -> bool) : {in generators, forall g, preserved_by g Q} -> preserved Q.
Proof.
move=> gen; have product (g h : dihedral) : preserved_by g Q -> preserved_by h Q -> preserved_by (compose g h) Q.
  by move=> Qg Qh p Qp; rewrite -[turned _ _]/(to p (g * h)%g) toM; apply/Qh/Qg.
have flip : preserved_by (true, false, false) Q by apply: gen.
have exchange : preserved_by (false, false, true) Q by apply: gen.
have flip_exchange : preserved_by (true, false, true) Q := product _ _ exchange flip.
have other : preserved_by (false, true, false) Q := product _ _ flip_exchange exchange.
have both : preserved_by (true, true, false) Q := product _ _ flip other.
have same : preserved_by (false, false, false) Q := product _ _ flip flip.
have both_exchange : preserved_by (true, true, true) Q := product _ _ exchange both.
have other_exchange : preserved_by (false, true, true) Q := product _ _ exchange other.
by case=> [[[] []] []].
Qed.

Lemma preserved_in_space : good_space n S -> bounded S -> local S -> space_preserved -> preserved (in_space n S).
Proof.
move=> /and3P[_ /allP lt_kings /allP no_king] bounded_S local_S /allP check.
apply: generated => g g_in p /hasP[k kS at_k].
have kn := lt_kings k kS.
have /andP[/allP/(_ k kS) kings_ok /allP allow_ok] : all (king_preserved g) (kings S)
    && all (fun c => allow S (moved m g c) == allow S c) (iota 0 n) by apply: check.
case/and5P: kings_ok => k'S /allP watch_lt /allP watch_in /allP same_material /allP same_condition.
set k' := moved m (inverse g) k in k'S watch_lt watch_in same_material same_condition.
have k'n : k' < n by apply: moved_lt.
have gk' : moved m g k' = k by apply: moved_inverse.
case/and4P: at_k => /eqP pk /allP allowed mat cond.
apply/hasP; exists k' => //; apply/and4P; split; first by rewrite reading_turned // gk' pk.
- apply/allP => c; rewrite mem_iota => /= lt; rewrite reading_turned //.
  have -> : (c == k') = (moved m g c == k).
    by apply/eqP/eqP => [-> //|gc]; rewrite /k' -gc inverse_moved.
  by rewrite -(eqP (allow_ok c _)) ?mem_iota //; apply: allowed; rewrite mem_iota moved_lt.
- rewrite !men_turned; have /andP[la ld] := bounded_S _ _ _ mat.
  move: (same_material (men n Black (reading p))); rewrite mem_iota la => /(_ isT) /allP same.
  by move: (same (men n White (reading p))); rewrite mem_iota ld => /(_ isT) /eqP <-.
(* The contents near the king, as one of the leaves. *)
pose l := [seq ([:: c], reading p c) | c <- undup (watch S k) & c != k].
have l_leaf : l \in leaves (nearby k).
  apply: leaves_map => c; rewrite mem_filter => /andP[/negPf ck _].
  case: (ltnP c n) => [lt|out]; last by rewrite reading_out.
  move: (allowed c); rewrite mem_iota lt ck => /(_ isT).
  by case: (reading p c) => //; rewrite (negPf (no_king c _)) // mem_iota.
have l_reads c : (c == k) || (c \in watch S k) -> overlay l (only_king k) c = reading p c.
  rewrite /l overlay_map mem_filter mem_undup /only_king; case: eqP => [-> _|_ /= ->] //; by rewrite pk.
have := same_condition l l_leaf => /=.
rewrite (local_S k _ (reading p)) ?cond; first last.
- by move=> c cw; apply: l_reads; rewrite cw orbT.
- by apply: l_reads; rewrite eqxx.
rewrite (local_S k' _ (reading (turned g p))) => [/eqP <- //||c cw].
  by rewrite gk' reading_turned // gk'; apply: l_reads; rewrite eqxx.
by rewrite reading_turned ?watch_lt //; apply/l_reads/watch_in.
Qed.

End Classes.
