// @ts-check
// Set the light or dark theme before the page is drawn; without a choice the system's setting applies.
(() => {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const dark = () =>
      (document.documentElement.dataset.theme ||
        (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const say = () => button.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
    button.addEventListener("click", () => {
      const next = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      localStorage.setItem("theme", next);
      say();
    });
    say();
  });
})();
