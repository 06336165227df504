(* The sets of `definitions.v` are spaces, so that their sizes can be computed. *)

From mathcomp Require Import all_ssreflect all_fingroup.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Rules.
Variables (R : ruleset) (kc : seq nat).
Notation n := (side R * side R).

(* ---- The cells of an undecided king ------------------------------------------------------------------------------ *)

Definition closed_under_moves :=
  (king_start R \in kc) && all (fun c => all (mem kc) (king_moves R c)) kc.

Lemma search_reaches many found :
  (forall c, c \in found -> king_reaches R c) -> forall c, c \in search R many found -> king_reaches R c.
Proof.
elim: many found => //= many IH found ok; case: ifP => // _; apply: IH => c; rewrite mem_cat => /orP[/ok //|].
rewrite mem_undup mem_filter => /andP[_ /flattenP[s /mapP[d d_in ->] c_in]].
by apply: (by_a_move (ok d d_in)).
Qed.

Theorem king_cellsP : kc = king_cells R -> closed_under_moves -> forall c, king_reaches R c <-> c \in king_cells R.
Proof.
move=> kc_eq /andP[start /allP closed] c; split; last by apply: search_reaches => d; rewrite mem_seq1 => /eqP ->; left.
by rewrite -kc_eq; elim=> // d e _ d_in e_in; apply: (allP (closed d d_in)).
Qed.

(* ---- Spaces of a rule set ---------------------------------------------------------------------------------------- *)

Definition allowed c : seq content :=
  if open_cell R c then [:: Empty; Black; White] else if c \in manned_camps R then [:: Empty; Black] else [:: Empty].

Definition general_space (allow : nat -> seq content) ks (m : nat -> nat -> nat -> bool) cond near := {|
  kings := ks;
  allow := allow;
  material := fun k a d => [&& a <= black_men R, d <= white_men R & m k a d];
  height := (black_men R).+1;
  width := (white_men R).+1;
  condition := cond;
  watch := near
|}.
Definition rule_space := general_space allowed.

Lemma general_bounded allow ks m cond near : bounded (general_space allow ks m cond near).
Proof. by move=> k a d /and3P[]; rewrite /= !ltnS => -> ->. Qed.

Definition placed_by (stand : content -> nat -> bool) (f : nat -> content) :=
  [&& number_of R King f == 1, number_of R Black f <= black_men R, number_of R White f <= white_men R
    & all (fun c => stand (f c) c) (cells R)].

Lemma general_spaceE stand allow ks m cond near (f : nat -> content) (Q : nat -> bool) :
    (forall c, King \notin allow c) -> (forall x c, stand x c = (x == King) || (x \in allow c)) ->
    all (fun k => k < n) ks -> (forall k, k < n -> Q k = (k \in ks) && cond f k) ->
  placed_by stand f && king_on R (fun k => Q k && m k (number_of R Black f) (number_of R White f)) f
  = in_space n (general_space allow ks m cond near) f.
Proof.
move=> no_king stand_allow /allP lt_ks Q_ks; rewrite /placed_by -!andbA.
under eq_all do rewrite stand_allow.
apply/and5P/hasP => [[/eqP one ba wd /allP ok /hasP[k kn /and3P[/eqP fk Qk mk]]]|[k k_in /and4P[/eqP fk /allP ok]]].
  move: (kn); rewrite mem_iota => /= k_lt; move: Qk; rewrite Q_ks // => /andP[k_in cond_k].
  exists k => //; apply/and4P; split=> //; [by rewrite fk | | by rewrite /= ba wd mk].
  apply/allP => c cn; case: (eqVneq c k) => //= ck; case/orP: (ok c cn) => // /eqP fc.
  have: 1 < number_of R King f.
    rewrite /number_of -size_filter; apply: (@uniq_leq_size _ [:: k; c]).
      by rewrite /= mem_seq1 eq_sym ck.
    by move=> e; rewrite !inE mem_filter => /orP[] /eqP ->; rewrite ?fk ?fc ?eqxx.
  by rewrite one.
move=> /and3P[ba wd mk] /= cond_k; have k_lt := lt_ks k k_in; have kn : k \in cells R by rewrite mem_iota.
have other c : c \in cells R -> c != k -> f c \in allow c.
  by move=> cn /negPf ck; move: (ok c cn); rewrite ck.
have king_only c : c \in cells R -> (f c == King) = (c == k).
  move=> cn; case: (eqVneq c k) => [->|ck]; first by rewrite fk.
  by apply: contraNF (no_king c) => /eqP <-; apply: other.
split=> //.
- rewrite /number_of (eq_in_count king_only) (@count_uniq_mem _ (cells R) k) ?iota_uniq //.
  by rewrite kn.
- by apply/allP => c cn; rewrite king_only //; case: eqVneq => //= ck; apply: other.
by apply/hasP; exists k => //; rewrite fk Q_ks // k_in cond_k mk.
Qed.

Lemma rule_spaceE ks m cond near (f : nat -> content) (Q : nat -> bool) :
    all (fun k => k < n) ks -> (forall k, k < n -> Q k = (k \in ks) && cond f k) ->
  placed R f && king_on R (fun k => Q k && m k (number_of R Black f) (number_of R White f)) f
  = in_space n (rule_space ks m cond near) f.
Proof.
apply: (@general_spaceE (may_stand R)) => [c|x c].
  by rewrite /allowed; case: (open_cell R c); case: (c \in manned_camps R).
by rewrite /may_stand /allowed; case: x; case: (open_cell R c); case: (c \in manned_camps R).
Qed.

(* ---- Conditions near the king ------------------------------------------------------------------------------------ *)

Fixpoint arrived_with (f : nat -> content) (way : seq nat) : bool :=
  if way is c :: rest then
    (f c == Empty) && ((c \in kc) ||
      [&& c \notin camps R, (c \notin castle R) || king_passes_castle R & arrived_with f rest])
  else false.
Definition escape_open (f : nat -> content) (k : nat) := has (fun d => arrived_with f (ray R k d)) directions.

(* The cells that have to be empty; none if the king cannot come this way. *)
Fixpoint leads_back (way : seq nat) : bool :=
  if way is c :: rest then
    (c \in kc) || [&& c \notin camps R, (c \notin castle R) || king_passes_castle R & leads_back rest]
  else false.
Fixpoint up_to_king (way : seq nat) : seq nat :=
  if way is c :: rest then (if c \in kc then [:: c] else c :: up_to_king rest) else [::].
Definition path_back (way : seq nat) : seq nat := if leads_back way then up_to_king way else [::].
Definition paths_back (k : nat) := flatten [seq path_back (ray R k d) | d <- directions].

Lemma arrived_local f h way : {in path_back way, f =1 h} -> arrived_with f way = arrived_with h way.
Proof.
rewrite /path_back; case back: (leads_back way); last first.
  move=> _; transitivity false; last apply/esym; elim: way back => //= c way IH /norP[/negPf ->];
  by case: (c \notin camps R) => //=; rewrite ?andbF //; case: (_ || _) => //= [/negPf/IH ->|_]; rewrite andbF.
elim: way back => //= c way IH; case: ifP => /= [_ _ same|_ /and3P[-> -> back] same].
  by rewrite same ?mem_head.
rewrite same ?mem_head // IH // => d d_in; apply: same; by rewrite in_cons d_in orbT.
Qed.

Lemma escape_local f h k : {in paths_back k, f =1 h} -> escape_open f k = escape_open h k.
Proof.
move=> same; have one d : arrived_with f (ray R k d) = arrived_with h (ray R k d).
  apply: arrived_local => c c_in; apply: same; rewrite /paths_back /= !mem_cat.
  by case: d c_in => ->; rewrite ?orbT.
by rewrite /escape_open /= !one.
Qed.

Lemma at_side_local k d (P Q : nat -> bool) : {in neighbours R k, P =1 Q} -> at_side R k d P = at_side R k d Q.
Proof.
rewrite /at_side /neighbours; move: (step R k) => st; case eq: (st d) => [c|] // same; apply: same => /=.
by case: d eq => -> /=; do ?[case: (st _) => [?|] /=]; rewrite !inE eqxx ?orbT.
Qed.

Lemma captured_local f h k : {in neighbours R k, f =1 h} -> captured R f k = captured R h k.
Proof.
move=> same; rewrite /captured; case: (needs R k).
  by apply: eq_has => d; congr andb; apply: at_side_local => c c_in; rewrite same.
congr andb; last by apply: eq_has => d; apply: at_side_local => c c_in; rewrite same.
by apply: eq_all => d; apply: at_side_local => c c_in; rewrite same.
Qed.

(* ---- The sets of `definitions.v` --------------------------------------------------------------------------------- *)

Definition undecided_space := rule_space kc (fun _ a _ => 0 < a) (fun _ _ => true) (fun _ => [::]).
Definition all_captured_space := rule_space kc (fun _ a _ => a == 0) (fun _ _ => true) (fun _ => [::]).
Definition escaped_space := rule_space (escapes R) (fun _ a _ => 0 < a) escape_open paths_back.
Definition escaped_last_space := rule_space (escapes R) (fun _ a _ => king_armed R && (a == 0)) escape_open paths_back.
Definition king_captured_space := rule_space kc (fun _ a _ => 0 < a) (captured R) (neighbours R).
(* (`if` instead of `||` avoids a search of the list for each material.) *)
Definition counted_space := rule_space (kc ++ escapes R)
  (fun k a _ => if 0 < a then true else if king_armed R then true else k \in kc)
  (fun f k => (k \in kc) || escape_open f k) (fun k => if k \in kc then [::] else paths_back k).

Lemma undecided_local : local undecided_space. Proof. by []. Qed.
Lemma all_captured_local : local all_captured_space. Proof. by []. Qed.
Lemma escaped_local : local escaped_space. Proof. by move=> k f h _; apply: escape_local. Qed.
Lemma escaped_last_local : local escaped_last_space. Proof. by move=> k f h _; apply: escape_local. Qed.
Lemma king_captured_local : local king_captured_space. Proof. by move=> k f h _; apply: captured_local. Qed.
Lemma counted_local : local counted_space.
Proof. by move=> k f h _ /=; case: ifP => //= _; apply: escape_local. Qed.

Hypothesis kc_right : kc = king_cells R.

Lemma just_escapedE f k : just_escaped R f k = (k \in escapes R) && escape_open f k.
Proof.
congr andb; apply: eq_has => d; elim: (ray R k d) => //= c way ->; by rewrite kc_right.
Qed.

Lemma king_on_and f (Q : nat -> bool) b : king_on R (fun k => Q k && b) f = king_on R Q f && b.
Proof.
rewrite /king_on; case: b; last by rewrite andbF; under eq_has do rewrite !andbF; rewrite has_pred0.
by rewrite andbT; under eq_has do rewrite andbT.
Qed.

Lemma undecidedE f : all (fun k => k < n) kc -> undecided R f = in_space n undecided_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := mem kc)) //; last by move=> k _; rewrite andbT.
by rewrite king_on_and /undecided -kc_right; case: (placed R f); rewrite //= andbC.
Qed.

Lemma all_capturedE f : all (fun k => k < n) kc -> all_captured R f = in_space n all_captured_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := mem kc)) //; last by move=> k _; rewrite andbT.
by rewrite king_on_and /all_captured -kc_right; case: (placed R f); rewrite //= andbC.
Qed.

Lemma king_capturedE f : all (fun k => k < n) kc -> king_captured R f = in_space n king_captured_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := fun k => (k \in kc) && captured R f k)) //.
by rewrite king_on_and /king_captured -kc_right; case: (placed R f); rewrite //= andbC.
Qed.

Lemma escapedE f : all (fun k => k < n) (escapes R) -> escaped R f = in_space n escaped_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := just_escaped R f)) //; last by move=> k _; rewrite just_escapedE.
by rewrite king_on_and /escaped; case: (placed R f); rewrite //= andbC.
Qed.

Lemma escaped_lastE f : all (fun k => k < n) (escapes R) -> escaped_last R f = in_space n escaped_last_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := just_escaped R f)) //; last by move=> k _; rewrite just_escapedE.
by rewrite king_on_and /escaped_last; case: (king_armed R); case: (placed R f); rewrite ?andbF //= andbC.
Qed.

Lemma countedE f : all (fun k => k < n) (kc ++ escapes R) -> counted R f = in_space n counted_space f.
Proof.
move=> lt; rewrite -(rule_spaceE _ _ (Q := fun k => (k \in kc) || just_escaped R f k)) //; last first.
  by move=> k _; rewrite just_escapedE mem_cat; case: (k \in kc); case: (k \in escapes R).
rewrite /counted /undecided /all_captured /escaped /escaped_last /king_captured -kc_right.
have king_on_or (P Q : nat -> bool) : king_on R (fun k => P k || Q k) f = king_on R P f || king_on R Q f.
  by rewrite /king_on -has_predU; apply: eq_has => k /=; rewrite andb_orr.
have king_on_eq (P Q : nat -> bool) : P =1 Q -> king_on R P f = king_on R Q f.
  by move=> same; apply: eq_has => k; rewrite same.
have sub : king_on R (fun k => (k \in kc) && captured R f k) f -> king_on R (mem kc) f.
  by apply: sub_has => k /andP[-> /andP[]].
case: (placed R f); rewrite ?andbF //=; case: posnP => [none|some].
  case: (king_armed R); rewrite /= ?orbF.
    by rewrite -king_on_or; apply: king_on_eq => k; rewrite andbT.
  by apply: king_on_eq => k; rewrite /= orbC; case: (k \in kc); rewrite ?andbF // orbT.
rewrite ?andbF /=.
transitivity (king_on R (mem kc) f || king_on R (just_escaped R f) f).
  by case kkc: (king_on R (mem kc) f) => //=; case: (king_on R (fun k => _ && _) f) sub => [/(_ isT)|];
    rewrite ?kkc ?orbF.
by rewrite -king_on_or; apply: king_on_eq => k; rewrite andbT.
Qed.

(* A captured king's placement is also an undecided one, so the union counts it once. *)
Theorem king_captured_undecided f : king_captured R f -> undecided R f.
Proof.
case/and3P=> ok some on; rewrite /undecided ok some /=; move: on.
by apply: sub_has => k /andP[-> /andP[]].
Qed.

(* ---- Theorems for rule sets, reduced to checks by computation ---------------------------------------------------- *)

Definition identity_cycles := [seq [:: c] | c <- iota 0 n].

Definition number_is (S : space) (expected : N) : bool :=
  [&& good_space n S, good_cycles n id identity_cycles & N.eqb (fixed_number S id identity_cycles) expected].

Definition fixed_by (S : space) (g : symmetry) : N :=
  fixed_number S (moved (side R) g) (cycles_of n (moved (side R) g)).

Definition classes_are (S : space) (expected : N) : bool :=
  [&& good_space n S, space_preserved R S,
      all (fun g => good_cycles n (moved (side R) g) (cycles_of n (moved (side R) g))) all_symmetries
    & N.eqb (N.div (sum_N all_symmetries predT (fixed_by S)) 8) expected].

Section Numbers.
Variables (Q : (nat -> content) -> bool) (S : space) (expected : N).
Hypothesis Q_S : forall p : placement R, Q (reading p) = in_space n S (reading p).
Hypotheses (S_bounded : bounded S) (S_local : local S).

Lemma number_space : number_is S expected -> number R Q = expected.
Proof.
case/and3P=> good_S good_cyc /N.eqb_spec <-.
rewrite -(fixed_numberP good_S good_cyc _ S_bounded S_local); last by move=> c; rewrite mem_iota.
congr N.of_nat; congr #|pred_of_set _|; apply/setP => p; rewrite !inE Q_S.
by rewrite -[LHS]andbT; congr andb; apply/esym/allP => c _; rewrite eqxx.
Qed.

Lemma classes_space : classes_are S expected -> classes R Q = expected.
Proof.
case/and4P=> good_S stable /allP good_cyc /N.eqb_spec <-.
apply: (classes_burnside (fixed_numbers := fixed_by S)).
  by move=> g p; rewrite !Q_S; apply: preserved_in_space.
move=> g; have g_in : g \in all_symmetries by case: g => [[[] []] []].
rewrite /fixed_by -(fixed_numberP good_S (good_cyc g g_in) _ S_bounded S_local); last first.
  by move=> c; rewrite mem_iota => lt; apply: moved_lt.
by congr N.of_nat; congr #|pred_of_set _|; apply/setP => p; rewrite !inE Q_S.
Qed.

End Numbers.

(* What is checked for every theorem: the list of king cells is right, and all cells are on the board. *)
Definition right_cells : bool := [&& kc == king_cells R, all (fun k => k < n) kc & all (fun k => k < n) (escapes R)].

End Rules.

Section Proofs.
Variables (R : ruleset) (kc : seq nat) (e : N).

Theorem prove_undecided : right_cells R kc && number_is R (undecided_space R kc) e -> number R (undecided R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: undecidedE => // | exact: general_bounded | exact: undecided_local].
Qed.
Theorem prove_undecided_classes : right_cells R kc && classes_are R (undecided_space R kc) e ->
  classes R (undecided R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: undecidedE => // | exact: general_bounded | exact: undecided_local].
Qed.

Theorem prove_all_captured : right_cells R kc && number_is R (all_captured_space R kc) e ->
  number R (all_captured R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: all_capturedE => // | exact: general_bounded | exact: all_captured_local].
Qed.
Theorem prove_all_captured_classes : right_cells R kc && classes_are R (all_captured_space R kc) e ->
  classes R (all_captured R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: all_capturedE => // | exact: general_bounded | exact: all_captured_local].
Qed.

Theorem prove_escaped : right_cells R kc && number_is R (escaped_space R kc) e -> number R (escaped R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: escapedE => // | exact: general_bounded | exact: escaped_local].
Qed.
Theorem prove_escaped_classes : right_cells R kc && classes_are R (escaped_space R kc) e -> classes R (escaped R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: escapedE => // | exact: general_bounded | exact: escaped_local].
Qed.

Theorem prove_escaped_last : right_cells R kc && number_is R (escaped_last_space R kc) e ->
  number R (escaped_last R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: escaped_lastE => // | exact: general_bounded | exact: escaped_last_local].
Qed.
Theorem prove_escaped_last_classes : right_cells R kc && classes_are R (escaped_last_space R kc) e ->
  classes R (escaped_last R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: escaped_lastE => // | exact: general_bounded | exact: escaped_last_local].
Qed.

Theorem prove_king_captured : right_cells R kc && number_is R (king_captured_space R kc) e ->
  number R (king_captured R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: king_capturedE => // | exact: general_bounded | exact: king_captured_local].
Qed.
Theorem prove_king_captured_classes : right_cells R kc && classes_are R (king_captured_space R kc) e ->
  classes R (king_captured R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: king_capturedE => // | exact: general_bounded | exact: king_captured_local].
Qed.

Theorem prove_counted : right_cells R kc && number_is R (counted_space R kc) e -> number R (counted R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: number_space => [p||]; [apply: countedE => // | exact: general_bounded | exact: counted_local].
by rewrite all_cat kings_lt.
Qed.
Theorem prove_counted_classes : right_cells R kc && classes_are R (counted_space R kc) e -> classes R (counted R) = e.
Proof.
case/andP=> /and3P[/eqP kc_right kings_lt escapes_lt].
apply: classes_space => [p||]; [apply: countedE => // | exact: general_bounded | exact: counted_local].
by rewrite all_cat kings_lt.
Qed.

End Proofs.

Lemma sum_of_four w x y z a b c d e :
  w = a -> x = b -> y = c -> z = d -> N.eqb (a +N b +N c +N d) e -> w +N x +N y +N z = e.
Proof. by move=> -> -> -> -> /N.eqb_spec. Qed.

Lemma sum_of_five v w x y z f a b c d e :
  v = f -> w = a -> x = b -> y = c -> z = d -> N.eqb (f +N a +N b +N c +N d) e -> v +N w +N x +N y +N z = e.
Proof. by move=> -> -> -> -> -> /N.eqb_spec. Qed.

(* Proves that a check succeeds, by evaluating it. *)
Ltac by_computation := vm_cast_no_check (erefl true).
