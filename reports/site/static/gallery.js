"use strict";
/* Filters of the gallery, and marks on puzzles solved in this browser. */
(function () {
  const form = document.querySelector(".filters"), items = Array.from(document.querySelectorAll(".gallery li"));
  let done = [];
  try { done = JSON.parse(localStorage.getItem("tablut-solved") || "[]"); } catch (error) { done = []; }
  items.forEach(function (item) { if (done.includes(item.dataset.id)) item.classList.add("done"); });

  function filter() {
    let kept = 0;
    items.forEach(function (item) {
      const fits = ["rules", "side", "plies", "grade", "theme"].every(function (name) {
        return !form[name].value || form[name].value === item.dataset[name];
      });
      item.hidden = !fits;
      kept += fits;
    });
    form.querySelector("output").textContent = kept + " of " + items.length + " puzzles";
  }

  form.hidden = false;
  form.addEventListener("input", filter);
  filter();
})();
