"use strict";
// Light or dark: the reader's own choice before that of the system. Runs in the head, so that no page flashes in the other scheme.
(() => {
  const root = document.documentElement, NAME = "perfvcs-scheme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  function kept() {
    try { return localStorage.getItem(NAME); } catch { return null; } // forbidden on some file systems and in private windows
  }
  function keep(scheme) {
    try { localStorage.setItem(NAME, scheme); } catch { /* then it holds for this page only */ }
  }
  function show(scheme) {
    root.dataset.scheme = scheme;
    const button = document.getElementById("scheme");
    if (button) button.setAttribute("aria-pressed", String(scheme === "dark"));
  }
  const now = () => root.dataset.scheme;
  const chosen = kept();
  show(chosen === "dark" || chosen === "light" ? chosen : dark.matches ? "dark" : "light");
  dark.addEventListener("change", event => { if (!kept()) show(event.matches ? "dark" : "light"); });
  root.classList.add("scripted");
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("scheme");
    if (!button) return;
    show(now());
    button.addEventListener("click", () => { show(now() === "dark" ? "light" : "dark"); keep(now()); });
  });
})();
