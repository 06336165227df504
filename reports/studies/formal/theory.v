(* Numbers of placements without enumeration, and the proof that the computation counts what the definitions say.

   A placement is filled block by block. A block is a list of cells that have the same content: a single cell, or, for
   placements that a symmetry preserves, a cycle of cells. The number of placements with a given material satisfies a
   recurrence over the blocks. The computation on binary numbers follows this recurrence. *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- Sums of numbers over sequences ------------------------------------------------------------------------------ *)

Lemma count_sum (T : Type) (a : pred T) (s : seq T) : count a s = \sum_(x <- s) a x.
Proof. by elim: s => [|x s IH]; rewrite ?big_nil ?big_cons //= IH. Qed.

Lemma count_flatten_map (S T : Type) (a : pred T) (f : S -> seq T) (s : seq S) :
  count a (flatten [seq f x | x <- s]) = \sum_(x <- s) count a (f x).
Proof. by elim: s => [|x s IH]; rewrite ?big_nil ?big_cons //= count_cat IH. Qed.

Lemma count_by (T : Type) (f : T -> nat) (many : nat) (a : pred T) (s : seq T) :
  (forall x, a x -> f x < many) -> count a s = \sum_(m <- iota 0 many) count (fun x => a x && (f x == m)) s.
Proof.
move=> bound; rewrite count_sum.
under [RHS]eq_bigr do rewrite count_sum.
rewrite exchange_big /=; apply: eq_bigr => x _.
case ax: (a x) => /=; last by rewrite big1.
rewrite (bigD1_seq (f x)) /= ?mem_iota ?iota_uniq ?bound //.
by rewrite eqxx big1 // => m /negPf; rewrite eq_sym => ->.
Qed.

(* ---- Placements on n cells, and the blocks that fill them -------------------------------------------------------- *)

Section Filling.
Variable n : nat.
Notation T := {ffun 'I_n -> content}.
Notation cells := (iota 0 n).

Lemma reading_val (p : T) (i : 'I_n) : reading p (val i) = p i.
Proof. by rewrite /reading valK. Qed.

Lemma reading_out (p : T) c : n <= c -> reading p c = Empty.
Proof. by rewrite leqNgt /reading; case: insubP => // i ->. Qed.

Lemma reading_inj (p q : T) : (forall c, c < n -> reading p c = reading q c) -> p = q.
Proof. by move=> same; apply/ffunP => i; rewrite -2!reading_val; apply/same/ltn_ord. Qed.

(* The number of cells with a given content. *)
Definition men x (f : nat -> content) := count (fun c => f c == x) cells.

(* A placement after a block has received a content. *)
Definition set_block (b : seq nat) (x : content) (p : T) : T := [ffun i => if val i \in b then x else p i].

Lemma reading_set b x (p : T) c :
  reading (set_block b x p) c = if (c < n) && (c \in b) then x else reading p c.
Proof.
rewrite /reading; case: insubP => [i lt val_i|/negPf out]; last by rewrite out.
by rewrite -val_i ltn_ord ffunE.
Qed.

Lemma count_mem_block (b : seq nat) : uniq b -> {subset b <= cells} -> count (mem b) cells = size b.
Proof.
move=> ub sub; rewrite -size_filter; apply/perm_size/uniq_perm => //; first exact/filter_uniq/iota_uniq.
by move=> c; rewrite mem_filter /=; case cb: (c \in b) => //=; apply: sub.
Qed.

Lemma men_set y b x (p : T) :
    uniq b -> {subset b <= cells} -> {in b, forall c, reading p c = Empty} -> y != Empty ->
  men y (reading (set_block b x p)) = men y (reading p) + (x == y) * size b.
Proof.
move=> ub sub empty ny; rewrite /men -(count_mem_block ub sub) !count_sum big_distrr /= -big_split /=.
apply: eq_big_seq => c; rewrite mem_iota /= => lt; rewrite reading_set lt /=.
case cb: (c \in b); last by rewrite muln0 addn0.
by rewrite empty // muln1 [Empty == y]eq_sym (negPf ny).
Qed.

(* A block together with the contents that it may receive. *)
Definition block := (seq nat * seq content)%type.
Definition block_cells (bs : seq block) := flatten [seq b.1 | b <- bs].

(* All placements that arise from a placement when blocks are filled. This list is never computed. *)
Fixpoint fillings (base : seq T) (bs : seq block) : seq T :=
  if bs is b :: rest then flatten [seq [seq set_block b.1 x p | p <- fillings base rest] | x <- b.2] else base.

Lemma fillings_cat base ws rs : fillings base (ws ++ rs) = fillings (fillings base rs) ws.
Proof. by elim: ws => //= b ws ->. Qed.

Variable base : T.

Definition good_blocks (bs : seq block) :=
  [&& uniq (block_cells bs), all (fun c => c < n) (block_cells bs), all (fun b => b.1 != [::]) bs
    & all (fun b => uniq b.2) bs].

Lemma good_cons b bs : good_blocks (b :: bs) ->
  [/\ good_blocks bs, uniq b.1, {subset b.1 <= cells}, b.1 != [::] & uniq b.2]
  /\ {in b.1, forall c, c \notin block_cells bs}.
Proof.
case/and4P; rewrite /block_cells /= cat_uniq all_cat.
case/and3P=> ub dis ur /andP[lb lr] /andP[nb nr] /andP[ob or]; split.
  split=> //; first by apply/and4P.
  by move=> c cb; rewrite mem_iota /=; apply: (allP lb).
by move=> c cb; apply: contra dis => cr; apply/hasP; exists c.
Qed.

(* What a filling looks like: every block has one of its contents throughout, and all other cells are as before. *)
Definition fits (bs : seq block) (f : nat -> content) :=
  all (fun b => has (fun x => all (fun c => f c == x) b.1) b.2) bs.

Lemma mem_fillings bs (p : T) : good_blocks bs ->
  (p \in fillings [:: base] bs) =
  fits bs (reading p) && all (fun c => (c \in block_cells bs) || (reading p c == reading base c)) cells.
Proof.
elim: bs p => [|b bs IH] p good /=.
  rewrite mem_seq1; apply/eqP/allP => [-> c _|same]; first by rewrite eqxx.
  by apply: reading_inj => c lt; apply/eqP; move: (same c); rewrite mem_iota /= => ->.
have [[goods ub sub nb uo] dis] := good_cons good.
apply/flatten_mapP/andP => [[x xo /mapP[q]]|[]].
  rewrite IH // => /andP[/allP fq /allP oq] ->; split; last first.
    apply/allP => c cn; rewrite /block_cells /= mem_cat reading_set; move: (oq c cn); move: cn;
      rewrite mem_iota /= => ->.
    by case: (c \in b.1).
  rewrite /fits /=; apply/andP; split.
    apply/hasP; exists x => //; apply/allP => c cb; rewrite reading_set cb.
    by move: (sub c cb); rewrite mem_iota /= => ->; rewrite eqxx.
  apply/allP => r rbs; case/hasP: (fq r rbs) => y yo /allP all_y; apply/hasP; exists y => //.
  apply/allP => c cr; rewrite reading_set.
  have -> : c \in b.1 = false; last by rewrite andbF; apply: all_y.
  apply/negP => cb; move: (dis c cb) => /negP; apply; apply/flattenP; exists r.1 => //.
  exact: map_f.
rewrite {1}/fits /= => /andP[/hasP[x xo /allP all_x] fits_p] /allP other; exists x => //.
pose q : T := [ffun i => if val i \in b.1 then base i else p i].
have read_q c : reading q c = if c \in b.1 then reading base c else reading p c.
  case: (ltnP c n) => [lt|out]; last by rewrite !reading_out // if_same.
  by rewrite -[c]/(val (Ordinal lt)) !reading_val ffunE.
apply/mapP; exists q; last first.
  apply: reading_inj => c lt; rewrite reading_set lt read_q /=; case cb: (c \in b.1) => //.
  exact/eqP/all_x.
rewrite IH //; apply/andP; split.
  apply/allP => r rbs; move/allP: fits_p => /(_ r rbs) /hasP[y yo /allP all_y]; apply/hasP; exists y => //.
  apply/allP => c cr; rewrite read_q.
  have -> : c \in b.1 = false; last exact: all_y.
  apply/negP => cb; move: (dis c cb) => /negP; apply; apply/flattenP; exists r.1 => //.
  exact: map_f.
apply/allP => c cn; move: (other c cn); rewrite /block_cells /= mem_cat read_q.
case: (c \in b.1) => [_|//]; by rewrite eqxx orbT.
Qed.

Lemma uniq_fillings bs : good_blocks bs -> uniq (fillings [:: base] bs).
Proof.
elim: bs => [|b bs IH] good //=; have [[goods ub sub nb uo] dis] := good_cons good.
apply: (allpairs_uniq (f := set_block b.1) uo (IH goods)) => -[x p] [y q] /=.
move=> /allpairsP[[x' p'] [/= _ pF [-> ->]]] /allpairsP[[y' q'] [/= _ qF [-> ->]]] same {x y p q}.
have same_at c : reading (set_block b.1 x' p') c = reading (set_block b.1 y' q') c by rewrite same.
congr (_, _).
  case: b.1 nb sub same_at => // c b' _ sub /(_ c); rewrite !reading_set mem_head andbT.
  by move: (sub c (mem_head _ _)); rewrite mem_iota /= => ->.
apply: reading_inj => c lt; case cb: (c \in b.1); last by move: (same_at c); rewrite !reading_set cb andbF.
have cn : c \in cells by rewrite mem_iota.
move: pF qF; rewrite !mem_fillings // => /andP[_ /allP/(_ c cn)] + /andP[_ /allP/(_ c cn)].
by rewrite (negPf (dis c cb)) => /eqP -> /eqP ->.
Qed.

(* ---- Contents of some blocks, written out ------------------------------------------------------------------------ *)

Fixpoint leaves (ws : seq block) : seq (seq (seq nat * content)) :=
  if ws is b :: rest then flatten [seq [seq (b.1, x) :: l | l <- leaves rest] | x <- b.2] else [:: [::]].

Definition overlay_placement (l : seq (seq nat * content)) (p : T) : T :=
  foldr (fun bx => set_block bx.1 bx.2) p l.
Definition overlay (l : seq (seq nat * content)) (f : nat -> content) (c : nat) : content :=
  foldr (fun bx rest => if c \in bx.1 then bx.2 else rest) (f c) l.
Definition weight y (l : seq (seq nat * content)) : nat := sumn [seq (bx.2 == y) * size bx.1 | bx <- l].

Lemma count_fillings (a : pred T) (start : seq T) ws :
  count a (fillings start ws) = \sum_(l <- leaves ws) count (fun p => a (overlay_placement l p)) start.
Proof.
elim: ws a => [|b ws IH] a /=; first by rewrite big_seq1.
rewrite count_flatten_map big_flatten big_map; apply: eq_bigr => x _.
by rewrite count_map IH big_map.
Qed.

Lemma reading_overlay l (p : T) c :
  c < n -> reading (overlay_placement l p) c = overlay l (reading p) c.
Proof. by move=> lt; elim: l => //= bx l IH; rewrite reading_set lt /= IH. Qed.

Lemma leaves_blocks ws l : l \in leaves ws -> [seq bx.1 | bx <- l] = [seq b.1 | b <- ws].
Proof.
by elim: ws l => [|b ws IH] l /=; [rewrite mem_seq1 => /eqP -> | case/flatten_mapP => x _ /mapP[l' /IH eq ->] /=;
  rewrite eq].
Qed.

Lemma overlay_outside l f c : c \notin flatten [seq bx.1 | bx <- l] -> overlay l f c = f c.
Proof. by elim: l => //= bx l IH; rewrite mem_cat negb_or => /andP[/negPf -> /IH]. Qed.

Lemma overlay_inside l f g c : c \in flatten [seq bx.1 | bx <- l] -> overlay l f c = overlay l g c.
Proof. by elim: l => //= bx l IH; rewrite mem_cat; case: (c \in bx.1) => //= /IH. Qed.

Lemma men_overlay y ws l (p : T) :
    good_blocks ws -> l \in leaves ws -> {in block_cells ws, forall c, reading p c = Empty} -> y != Empty ->
  men y (reading (overlay_placement l p)) = men y (reading p) + weight y l.
Proof.
move=> + + + ny; elim: ws l => [|b ws IH] l good /=; first by rewrite mem_seq1 => /eqP -> _; rewrite addn0.
have [[goods ub sub nb uo] dis] := good_cons good.
case/flatten_mapP => x _ /mapP[l' l'in ->] /= empty; rewrite /weight /=.
have empty_rest : {in block_cells ws, forall c, reading p c = Empty}.
  by move=> c cin; apply: empty; rewrite /block_cells /= mem_cat cin orbT.
rewrite men_set // ?IH //; first by rewrite -addnA [X in _ + X]addnC.
move=> c cb; have lt : c < n by move: (sub c cb); rewrite mem_iota.
rewrite reading_overlay // overlay_outside ?(leaves_blocks l'in) ?dis //.
by apply: empty; rewrite /block_cells /= mem_cat cb.
Qed.

(* ---- The recurrence ---------------------------------------------------------------------------------------------- *)

(* The kind of a block: its number of cells, and its possible contents. *)
Definition kind := (nat * seq content)%type.
Definition kind_of (b : block) : kind := (size b.1, b.2).

(* Number of ways to fill blocks of these kinds with a black and d white soldiers in total. *)
Fixpoint ways (ks : seq kind) (a d : nat) : nat :=
  if ks is (l, xs) :: rest then
    \sum_(x <- xs) match x with
                   | Black => if l <= a then ways rest (a - l) d else 0
                   | White => if l <= d then ways rest a (d - l) else 0
                   | _ => ways rest a d
                   end
  else (a == 0) && (d == 0).

Lemma count_material bs a d :
    good_blocks bs -> men Black (reading base) = 0 -> men White (reading base) = 0 ->
    {in block_cells bs, forall c, reading base c = Empty} ->
  count (fun p => (men Black (reading p) == a) && (men White (reading p) == d)) (fillings [:: base] bs)
  = ways (map kind_of bs) a d.
Proof.
move=> + black white; elim: bs a d => [|b bs IH] a d good empty.
  by rewrite /= addn0 black white ![0 == _]eq_sym.
have [[goods ub sub nb uo] dis] := good_cons good.
have empty_rest : {in block_cells bs, forall c, reading base c = Empty}.
  by move=> c cin; apply: empty; rewrite /block_cells /= mem_cat cin orbT.
rewrite /= count_flatten_map; apply: eq_bigr => x _; rewrite count_map.
have moved y p : p \in fillings [:: base] bs -> y != Empty ->
    men y (reading (set_block b.1 x p)) = men y (reading p) + (x == y) * size b.1.
  move=> pF ny; apply: men_set => // c cb; move: pF; rewrite mem_fillings // => /andP[_ /allP/(_ c (sub c cb))].
  rewrite (negPf (dis c cb)) => /eqP ->; by apply: empty; rewrite /block_cells /= mem_cat cb.
transitivity (count (fun p => (men Black (reading p) + (x == Black) * size b.1 == a)
                              && (men White (reading p) + (x == White) * size b.1 == d)) (fillings [:: base] bs)).
  by apply: eq_in_count => p pF /=; rewrite !moved.
have add_eq m l a' : (m + l == a') = (l <= a') && (m == a' - l).
  case: leqP => [le|lt] /=; last by apply/negP => /eqP e; move: lt; rewrite -e ltnNge leq_addl.
  by rewrite -(eqn_add2r l m) subnK.
case: x moved => _ /=; rewrite ?mul0n ?mul1n; under eq_count do rewrite ?addn0 ?add_eq; rewrite ?IH //.
  by case: leqP => _ /=; rewrite ?IH // count_pred0.
by case: leqP => _ /=; rewrite ?IH //; under eq_count do rewrite andbF; rewrite count_pred0.
Qed.

(* Number of fillings with a condition on the material and on the cells of the blocks `ws`. *)
Lemma count_conditioned ws rs (M : nat -> nat -> bool) (C : (nat -> content) -> bool) height width :
    good_blocks (ws ++ rs) -> men Black (reading base) = 0 -> men White (reading base) = 0 ->
    {in block_cells (ws ++ rs), forall c, reading base c = Empty} ->
    (forall a d, M a d -> (a < height) && (d < width)) ->
    (forall f g, {in block_cells ws, f =1 g} -> (forall c, c \notin block_cells (ws ++ rs) -> f c = g c) ->
      C f = C g) ->
  count (fun p => M (men Black (reading p)) (men White (reading p)) && C (reading p)) (fillings [:: base] (ws ++ rs))
  = \sum_(l <- leaves ws | C (overlay l (reading base)))
      \sum_(a <- iota 0 height) \sum_(d <- iota 0 width | M (weight Black l + a) (weight White l + d))
        ways (map kind_of rs) a d.
Proof.
move=> good black white empty bound local.
have good_ws : good_blocks ws /\ good_blocks rs /\ {in block_cells ws, forall c, c \notin block_cells rs}.
  move: good; rewrite /good_blocks /block_cells map_cat flatten_cat cat_uniq !all_cat.
  case/and4P=> /and3P[-> dis ->] /andP[-> ->] /andP[-> ->] /andP[-> ->]; do 2!split=> //.
  by move=> c cw; apply: contra dis => cr; apply/hasP; exists c.
case: good_ws => good_ws [good_rs dis].
have cells_cat c : (c \in block_cells (ws ++ rs)) = (c \in block_cells ws) || (c \in block_cells rs).
  by rewrite /block_cells map_cat flatten_cat mem_cat.
rewrite fillings_cat count_fillings [RHS]big_mkcond /=; apply: eq_big_seq => l l_in.
have fill p : p \in fillings [:: base] rs ->
    [/\ men Black (reading (overlay_placement l p)) = weight Black l + men Black (reading p),
        men White (reading (overlay_placement l p)) = weight White l + men White (reading p)
      & C (reading (overlay_placement l p)) = C (overlay l (reading base))].
  rewrite mem_fillings // => /andP[_ /allP outside].
  have p_base c : c < n -> c \notin block_cells rs -> reading p c = reading base c.
    by move=> lt out; move: (outside c); rewrite mem_iota lt (negPf out) => /(_ isT) /eqP.
  have lt_ws c : c \in block_cells ws -> c < n by move=> cw; case/and4P: good_ws => _ /allP/(_ c cw).
  have p_empty : {in block_cells ws, forall c, reading p c = Empty}.
    by move=> c cw; rewrite p_base ?lt_ws ?dis // empty // cells_cat cw.
  rewrite !(men_overlay good_ws l_in) //; split; rewrite 1?addnC //.
  apply: local => c; first by move=> cw; rewrite reading_overlay ?lt_ws //; apply: overlay_inside;
    rewrite (leaves_blocks l_in).
  rewrite cells_cat negb_or => /andP[cw cr]; rewrite [RHS]overlay_outside ?(leaves_blocks l_in) //.
  case: (ltnP c n) => [lt|out]; last by rewrite !reading_out.
  by rewrite reading_overlay // overlay_outside ?(leaves_blocks l_in) // p_base.
transitivity (if C (overlay l (reading base))
    then count (fun p => M (weight Black l + men Black (reading p)) (weight White l + men White (reading p)))
           (fillings [:: base] rs) else 0).
  case: ifP => Cl; last rewrite -(count_pred0 (fillings [:: base] rs)).
    by apply: eq_in_count => p /fill[/= -> -> ->]; rewrite Cl andbT.
  by apply: eq_in_count => p /fill[/= _ _ ->]; rewrite Cl andbF.
case: ifP => // _.
rewrite (count_by (f := fun p => men Black (reading p)) (many := height)); last first.
  by move=> p /bound /andP[lt _]; apply: leq_ltn_trans lt; apply: leq_addl.
apply: eq_bigr => a _; rewrite (count_by (f := fun p => men White (reading p)) (many := width)); last first.
  by move=> p /andP[/bound /andP[_ lt] _]; apply: leq_ltn_trans lt; apply: leq_addl.
rewrite [RHS]big_mkcond /=; apply: eq_bigr => d _.
have empty_rs : {in block_cells rs, forall c, reading base c = Empty}.
  by move=> c cr; apply: empty; rewrite cells_cat cr orbT.
rewrite -(count_material a d good_rs black white empty_rs).
case: ifP => Mad; last rewrite -(count_pred0 (fillings [:: base] rs)).
  apply: eq_count => p /=; rewrite -andbA; apply/andP/andP => [[_ /andP[]]|[/eqP eqa /eqP eqd]] //.
  by rewrite eqa eqd Mad !eqxx.
by apply: eq_count => p /=; apply/negP => /andP[/andP[+ /eqP eqa] /eqP eqd]; rewrite eqa eqd Mad.
Qed.

End Filling.

(* ---- The recurrence on binary numbers ---------------------------------------------------------------------------- *)

Notation "x +N y" := (N.add x y) (at level 50, left associativity).

Lemma of_nat_add x y : N.of_nat (x + y) = N.of_nat x +N N.of_nat y.
Proof. by rewrite -plusE Nnat.Nat2N.inj_add. Qed.

Definition sum_N (T : Type) (s : seq T) (a : pred T) (F : T -> N) : N :=
  foldr (fun x rest => if a x then F x +N rest else rest) 0%num s.

Lemma sum_NP (T : eqType) (s : seq T) (a : pred T) (F : T -> nat) (G : T -> N) :
  {in s, forall x, a x -> G x = N.of_nat (F x)} -> sum_N s a G = N.of_nat (\sum_(x <- s | a x) F x).
Proof.
elim: s => [|x s IH] same; rewrite ?big_nil ?big_cons //=.
have -> : sum_N s a G = N.of_nat (\sum_(x <- s | a x) F x) by apply: IH => y ys; apply: same; rewrite in_cons ys orbT.
by case: ifP => // ax; rewrite of_nat_add same ?mem_head.
Qed.

(* A grid is a table of numbers with a given number of rows (black soldiers) and columns (white soldiers). *)
Definition grid := seq (seq N).
Definition entry (t : grid) a d : N := nth 0%num (nth [::] t a) d.

Section Grid.
Variables height width : nat.

Definition zeros : seq N := nseq width 0%num.
Definition add_rows (r s : seq N) : seq N := [seq N.add x.1 x.2 | x <- zip r s].
Definition add_grids (t u : grid) : grid := [seq add_rows x.1 x.2 | x <- zip t u].
Definition put (l : nat) (x : content) (t : grid) : grid :=
  match x with
  | Black => take height (nseq l zeros ++ t)
  | White => [seq take width (nseq l 0%num ++ r) | r <- t]
  | _ => t
  end.
Definition sum_grids (ts : seq grid) : grid :=
  if ts is t :: rest then foldl add_grids t rest else nseq height zeros.

(* The numbers of ways for each material below the given height and width. *)
Fixpoint ways_grid (ks : seq kind) : grid :=
  if ks is (l, xs) :: rest then
    let t := ways_grid rest in sum_grids [seq put l x t | x <- xs]
  else mkseq (fun a => mkseq (fun d => if (a == 0) && (d == 0) then 1%num else 0%num) width) height.

Definition shaped (t : grid) := (size t == height) && all (fun r => size r == width) t.

Lemma shaped_row t a : shaped t -> a < height -> size (nth [::] t a) = width.
Proof. by case/andP=> /eqP sz /allP rows lt; apply/eqP/rows/mem_nth; rewrite sz. Qed.

Lemma shaped_zeros : shaped (nseq height zeros).
Proof. by rewrite /shaped size_nseq eqxx; apply/allP => r /nseqP[-> _]; rewrite size_nseq. Qed.

Lemma shaped_add t u : shaped t -> shaped u -> shaped (add_grids t u).
Proof.
move=> /andP[/eqP st /allP rt] /andP[/eqP su /allP ru]; rewrite /shaped size_map size_zip st su minnn eqxx /=.
apply/allP => r /mapP[[r1 r2] /= in_zip ->]; rewrite size_map size_zip.
have [in1 in2] : r1 \in t /\ r2 \in u.
  have sz : size t = size u by rewrite st.
  by split; [rewrite -(unzip1_zip (eq_leq sz)) | rewrite -(unzip2_zip (eq_leq (esym sz)))];
    [apply: (map_f fst in_zip) | apply: (map_f snd in_zip)].
by rewrite (eqP (rt _ in1)) (eqP (ru _ in2)) minnn.
Qed.

Lemma entry_add t u a d : shaped t -> shaped u -> a < height -> d < width ->
  entry (add_grids t u) a d = entry t a d +N entry u a d.
Proof.
move=> ht hu la ld; have st := eqP (andP ht).1; have su := eqP (andP hu).1.
rewrite /entry (nth_map ([::], [::])) ?size_zip ?st ?su ?minnn // nth_zip ?st ?su //=.
have rt := shaped_row ht la; have ru := shaped_row hu la.
by rewrite (nth_map (0%num, 0%num)) ?size_zip ?rt ?ru ?minnn // nth_zip ?rt ?ru.
Qed.

Lemma shaped_put l x t : shaped t -> shaped (put l x t).
Proof.
move=> ht; have /andP[/eqP st /allP rt] := ht; case: x => //=; rewrite /shaped.
  rewrite size_takel ?size_cat ?size_nseq ?st ?leq_addl // eqxx /=.
  by apply/allP => r /mem_take; rewrite mem_cat => /orP[/nseqP[-> _]|/rt //]; rewrite size_nseq.
rewrite size_map st eqxx /=; apply/allP => r /mapP[r' /rt /eqP sr ->].
by rewrite size_takel // size_cat sr leq_addl.
Qed.

Lemma entry_put l x t a d : shaped t -> a < height -> d < width ->
  entry (put l x t) a d = match x with
    | Black => if l <= a then entry t (a - l) d else 0%num
    | White => if l <= d then entry t a (d - l) else 0%num
    | _ => entry t a d
    end.
Proof.
move=> ht la ld; have /andP[/eqP st /allP rt] := ht; case: x => //; rewrite /entry /=.
  rewrite nth_take // nth_cat size_nseq ltnNge; case: leqP => //= lt.
  by rewrite nth_nseq lt nth_nseq ld.
rewrite (nth_map [::]) ?st // nth_take // nth_cat size_nseq ltnNge; case: leqP => //= lt.
by rewrite nth_nseq lt.
Qed.

Lemma shaped_sum ts : all shaped ts -> shaped (sum_grids ts).
Proof.
case: ts => [_|t ts /= /andP[]]; first exact: shaped_zeros.
by elim: ts t => //= u ts IH t ht /andP[hu hts]; apply: IH => //; apply: shaped_add.
Qed.

Lemma entry_sum ts a d : all shaped ts -> a < height -> d < width ->
  entry (sum_grids ts) a d = foldr (fun t rest => entry t a d +N rest) 0%num ts.
Proof.
move=> + la ld; case: ts => [_|t ts /= /andP[]]; first by rewrite /entry nth_nseq la nth_nseq ld.
elim: ts t => [t _ _|u ts IH t ht /andP[hu hts]] /=; first by rewrite N.add_0_r.
by rewrite IH ?shaped_add // entry_add // N.add_assoc.
Qed.

Lemma ways_gridP ks :
  shaped (ways_grid ks) /\ (forall a d, a < height -> d < width -> entry (ways_grid ks) a d = N.of_nat (ways ks a d)).
Proof.
elim: ks => [|[l xs] ks [shp IH]] /=.
  split=> [|a d la ld]; last by rewrite /entry !nth_mkseq //; case: andP.
  by rewrite /shaped size_mkseq eqxx; apply/allP => r /mapP[a _ ->]; rewrite size_mkseq.
have shp_all : all shaped [seq put l x (ways_grid ks) | x <- xs].
  by apply/allP => t /mapP[x _ ->]; apply: shaped_put.
split; first exact: shaped_sum.
move=> a d la ld; rewrite entry_sum //; elim: xs {shp_all} => [|x xs IHx]; rewrite ?big_nil ?big_cons //=.
rewrite {}IHx of_nat_add entry_put //; congr (_ +N _); case: x; try exact: IH.
- by case: leqP => // _; apply: IH => //; apply: leq_ltn_trans la; apply: leq_subr.
- by case: leqP => // _; apply: IH => //; apply: leq_ltn_trans ld; apply: leq_subr.
Qed.

End Grid.
