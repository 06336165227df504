// Order of the search results: research notes come after all other pages.
var Scorer = {
  score: (result) => (result[0].startsWith("notes/") ? result[4] - 1000 : result[4]),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
