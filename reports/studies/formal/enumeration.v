(* Small boards: every placement is listed, and each definition is evaluated on each of them. None of the counting of
   `theory.v` is used here, so that the definitions and the formulas meet in equal numbers. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- All lists of contents with at most k kings, b black and w white soldiers ------------------------------------ *)

Fixpoint lists (m k b w : nat) : seq (seq content) :=
  if m is m'.+1 then
    [seq Empty :: s | s <- lists m' k b w]
    ++ (if k is k'.+1 then [seq King :: s | s <- lists m' k' b w] else [::])
    ++ (if b is b'.+1 then [seq Black :: s | s <- lists m' k b' w] else [::])
    ++ (if w is w'.+1 then [seq White :: s | s <- lists m' k b w'] else [::])
  else [:: [::]].

Lemma mem_cons_map (x : content) (s : seq content) (t : seq (seq content)) y :
  (y :: s \in [seq x :: s' | s' <- t]) = (y == x) && (s \in t).
Proof. by apply/mapP/andP => [[s' s't [-> ->]]|[/eqP -> st]]; [rewrite eqxx | exists s]. Qed.

Lemma mem_lists m k b w s :
  (s \in lists m k b w) =
  [&& size s == m, count_mem King s <= k, count_mem Black s <= b & count_mem White s <= w].
Proof.
have no_nil y t : (([::] : seq content) \in [seq y :: s' | s' <- t]) = false by apply/negP => /mapP[].
elim: m k b w s => [|m IH] k b w [|x s] //=.
  by rewrite !mem_cat; case: k => [|k]; case: b => [|b]; case: w => [|w]; rewrite ?no_nil ?in_nil.
by rewrite !mem_cat; case: k => [|k]; case: b => [|b]; case: w => [|w];
  rewrite ?mem_cons_map ?IH ?in_nil ?orbF; case: x => /=; rewrite ?add0n ?add1n ?eqSS ?ltnS ?ltn0 ?andbF ?orbF.
Qed.

Lemma uniq_lists m k b w : uniq (lists m k b w).
Proof.
elim: m k b w => // m IH k b w /=.
have inj x : injective (cons (x : content)) by move=> s t [].
have disjoint x y (s t : seq (seq content)) : x != y -> ~~ has (mem [seq x :: s' | s' <- s]) [seq y :: s' | s' <- t].
  by move=> xy; apply/hasPn => r /mapP[s' _ ->]; apply/negP => /mapP[s'' _ [eq _]]; rewrite eq eqxx in xy.
have map_uniq (x : content) s : uniq s -> uniq [seq x :: s' | s' <- s] by move=> us; rewrite (map_inj_uniq (@inj x)).
rewrite !cat_uniq !has_cat !negb_or.
have none (s : seq (seq content)) : ~~ has (mem [::]) s by apply/hasPn.
by case: k => [|k]; case: b => [|b]; case: w => [|w]; rewrite ?disjoint ?none ?map_uniq ?IH.
Qed.

(* ---- The placements of a rule set are these lists ---------------------------------------------------------------- *)

Section Enumeration.
Variables (R : ruleset) (kc : seq nat).
Notation n := (side R * side R).
Notation T := (placement R).

Definition extensional (Q : (nat -> content) -> bool) := forall f h, f =1 h -> Q f = Q h.

Definition listed (p : T) : seq content := [seq reading p c | c <- iota 0 n].

Lemma nth_listed (p : T) : nth Empty (listed p) =1 reading p.
Proof.
move=> c; case: (ltnP c n) => [lt|out]; last by rewrite nth_default ?size_map ?size_iota // reading_out.
by rewrite (nth_map 0) ?size_iota // nth_iota.
Qed.

Lemma number_listed (Q : (nat -> content) -> bool) : extensional Q -> (forall f, Q f -> placed R f) ->
  number R Q = sum_N (lists n 1 (black_men R) (white_men R)) predT (fun s => if Q (nth Empty s) then 1%num else 0%num).
Proof.
move=> ext Q_placed; rewrite (@sum_NP _ _ _ (fun s => Q (nth Empty s))) => [|s _ _]; last by case: (Q _).
rewrite -count_sum /number; congr N.of_nat.
rewrite -size_filter cardE -(size_map listed); apply/perm_size/uniq_perm.
- rewrite map_inj_in_uniq ?enum_uniq // => p q _ _ eq; apply: reading_inj => c lt.
  by rewrite -!nth_listed eq.
- exact/filter_uniq/uniq_lists.
move=> s; rewrite mem_filter mem_lists; apply/mapP/andP => [[p]|[Qs /and4P[/eqP size_s _ _ _]]].
  rewrite mem_enum inE => Qp ->; rewrite (ext _ _ (nth_listed p)) Qp; split=> //.
  have /and4P[/eqP one black white _] := Q_placed _ Qp.
  by rewrite /listed size_map size_iota eqxx !count_map /= -[count _ _]/(number_of R King (reading p)) one black white.
exists [ffun i : 'I_n => nth Empty s i].
  rewrite mem_enum inE -(ext (nth Empty s)) // => c; rewrite /reading; case: insubP => [i _ <-|]; rewrite ?ffunE //.
  by rewrite -leqNgt => out; rewrite nth_default // size_s.
apply: (@eq_from_nth _ Empty) => [|c]; first by rewrite size_map size_iota.
by rewrite size_s => lt; rewrite nth_listed -[c]/(val (Ordinal lt)) reading_val ffunE.
Qed.

(* ---- The definitions do not depend on more than the contents ----------------------------------------------------- *)

Lemma number_of_ext x f h : f =1 h -> number_of R x f = number_of R x h.
Proof. by move=> same; apply: eq_count => c; rewrite same. Qed.

Lemma placed_ext : extensional (placed R).
Proof.
move=> f h same; rewrite /placed !(number_of_ext _ same); congr [&& _, _, _ & _].
by apply: eq_all => c; rewrite same.
Qed.

Lemma king_on_ext f h (P Q : nat -> bool) : f =1 h -> P =1 Q -> king_on R P f = king_on R Q h.
Proof. by move=> same eq; apply: eq_has => c; rewrite same eq. Qed.

Hypothesis kc_right : kc = king_cells R.

Lemma escape_ext f h k : f =1 h -> just_escaped R f k = just_escaped R h k.
Proof.
by move=> same; rewrite !(just_escapedE kc_right); congr andb; apply: escape_local => c _; apply: same.
Qed.
Lemma captured_ext f h k : f =1 h -> captured R f k = captured R h k.
Proof. by move=> same; apply: captured_local => c _; apply: same. Qed.

Lemma undecided_ext : extensional (undecided R).
Proof.
by move=> f h same; rewrite /undecided (placed_ext same) (number_of_ext _ same)
  (king_on_ext same (Q := mem (king_cells R))).
Qed.
Lemma all_captured_ext : extensional (all_captured R).
Proof.
by move=> f h same; rewrite /all_captured (placed_ext same) (number_of_ext _ same)
  (king_on_ext same (Q := mem (king_cells R))).
Qed.
Lemma escaped_ext : extensional (escaped R).
Proof.
move=> f h same; rewrite /escaped (placed_ext same) (number_of_ext _ same).
by rewrite (king_on_ext same (Q := just_escaped R h)) // => k; apply: escape_ext.
Qed.
Lemma escaped_last_ext : extensional (escaped_last R).
Proof.
move=> f h same; rewrite /escaped_last (placed_ext same) (number_of_ext _ same).
by rewrite (king_on_ext same (Q := just_escaped R h)) // => k; apply: escape_ext.
Qed.
Lemma king_captured_ext : extensional (king_captured R).
Proof.
move=> f h same; rewrite /king_captured (placed_ext same) (number_of_ext _ same).
by rewrite (king_on_ext same (Q := fun k => (k \in king_cells R) && captured R h k)) // => k;
  rewrite (captured_ext _ same).
Qed.
Lemma counted_ext : extensional (counted R).
Proof.
move=> f h same; rewrite /counted (undecided_ext same) (all_captured_ext same) (escaped_ext same)
  (escaped_last_ext same).
by rewrite (king_captured_ext same).
Qed.

Lemma counted_placed f : counted R f -> placed R f.
Proof. by case/or4P => [/andP[]|/andP[]|/andP[]|/orP[/and3P[]|/andP[]]]. Qed.

(* ---- All six definitions, evaluated on a placement --------------------------------------------------------------- *)

(* The definitions share what they have in common, and the king's cell is looked up once. *)
Definition kings_of (f : nat -> content) := [seq c <- cells R | f c == King].
Definition judged (f : nat -> content) : seq bool :=
  if placed R f then
    let ks := kings_of f in let black := 0 < number_of R Black f in
    let inside := has (mem kc) ks in
    let out := if has (mem (escapes R)) ks then has (escape_open R kc f) ks else false in
    let taken := if inside then has (captured R f) ks else false in
    [:: inside && black; inside && ~~ black; out && black; [&& king_armed R, out & ~~ black]; taken && black;
        inside || (out && (black || king_armed R))]
  else nseq 6 false.

Lemma judgedE f : judged f =
  [:: undecided R f; all_captured R f; escaped R f; escaped_last R f; king_captured R f; counted R f].
Proof.
rewrite /judged /counted /undecided /all_captured /escaped /escaped_last /king_captured.
case: (boolP (placed R f)) => [ok|_]; last by rewrite /= ?andbF.
have [k ks] : exists k, kings_of f = [:: k].
  case/and4P: ok => + _ _ _; rewrite /number_of -size_filter -/(kings_of f); case: (kings_of f) => [|k []] // _.
  by exists k.
have on (Q : nat -> bool) : king_on R Q f = Q k.
  transitivity (has Q (kings_of f)); last by rewrite ks /= orbF.
  rewrite /king_on /kings_of; elim: (cells R) => //= c cs ->.
  by case: (f c == King).
rewrite !on -kc_right (just_escapedE kc_right) /= ks /= !orbF -[number_of _ _ _ == 0]negbK -lt0n.
case: (k \in kc); case: (k \in escapes R); case: (0 < number_of R Black f); case: (king_armed R);
  case: (escape_open R kc f k); case: (captured R f k) => //=.
Qed.

Definition tally : seq N :=
  foldr (fun s rest => [seq (if x.1 then N.succ x.2 else x.2) | x <- zip (judged (nth Empty s)) rest]) (nseq 6 0%num)
    (lists n 1 (black_men R) (white_men R)).
Lemma tally_sum (L : seq (seq content)) (J : seq content -> seq bool) (Qs : seq ((nat -> content) -> bool)) :
    (forall s, J s = [seq Q (nth Empty s) | Q <- Qs]) ->
  foldr (fun s rest => [seq (if x.1 then N.succ x.2 else x.2) | x <- zip (J s) rest]) (nseq (size Qs) 0%num) L
  = [seq sum_N L predT (fun s => if Q (nth Empty s) then 1%num else 0%num) | Q <- Qs].
Proof.
move=> JQ; elim: L => [|s L IH]; first by elim: Qs {JQ} => //= Q Qs ->.
rewrite [LHS]/= IH JQ; elim: Qs {JQ IH} => //= Q Qs ->; congr cons.
by case: (Q _); rewrite ?N.add_0_l ?N.add_1_l.
Qed.

Definition sets := [:: undecided R; all_captured R; escaped R; escaped_last R; king_captured R; counted R].

Lemma tallyE : tally = [seq number R Q | Q <- sets].
Proof.
rewrite /tally -[6]/(size sets) (@tally_sum _ _ sets) => [|s]; last exact: judgedE.
rewrite /sets [LHS]map_cons [RHS]map_cons; congr cons.
  by rewrite (number_listed undecided_ext) // => f /and3P[].
rewrite [LHS]map_cons [RHS]map_cons; congr cons; first by rewrite (number_listed all_captured_ext) // => f /and3P[].
rewrite [LHS]map_cons [RHS]map_cons; congr cons; first by rewrite (number_listed escaped_ext) // => f /and3P[].
rewrite [LHS]map_cons [RHS]map_cons; congr cons; first by rewrite (number_listed escaped_last_ext) // => f /and4P[].
rewrite [LHS]map_cons [RHS]map_cons; congr cons; first by rewrite (number_listed king_captured_ext) // => f /and3P[].
rewrite [LHS]map_cons [RHS]map_cons; congr cons; first by rewrite (number_listed counted_ext) //; apply: counted_placed.
Qed.

End Enumeration.

Theorem by_listing R kc e1 e2 e3 e4 e5 e6 :
    (kc == king_cells R) && (tally R kc == [:: e1; e2; e3; e4; e5; e6]) ->
  [/\ number R (undecided R) = e1, number R (all_captured R) = e2, number R (escaped R) = e3,
      number R (escaped_last R) = e4 & number R (king_captured R) = e5 /\ number R (counted R) = e6].
Proof. by case/andP=> /eqP kc_right /eqP; rewrite (tallyE kc_right) => -[-> -> -> -> -> ->]. Qed.
