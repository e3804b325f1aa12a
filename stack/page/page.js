"use strict";
const view = document.getElementById("view");
const lost = document.getElementById("lost");
let read = new Date();

function draw(html) {
  // A reader who marks text to copy it keeps the mark until it is gone.
  if (!getSelection().isCollapsed) return;
  const focused = document.activeElement?.getAttribute("href");
  view.innerHTML = html;
  if (focused) view.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  document.title = view.querySelector("h1").textContent + " \u00b7 inferwatch";
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/fragment", { signal: AbortSignal.timeout(4000) });
    if (!answer.ok) throw new Error(answer.status);
    draw(await answer.text());
    read = new Date();
    lost.hidden = true;
    document.body.classList.remove("stale");
  } catch {
    lost.textContent = `The start page no longer answers. What you see is from ${read.toLocaleTimeString()}.`;
    lost.hidden = false;
    document.body.classList.add("stale");
  }
}

setInterval(refresh, 5000);
document.addEventListener("visibilitychange", refresh);
