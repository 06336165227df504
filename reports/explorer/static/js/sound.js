// @ts-check
// A soft knock for each move. It is off until a visitor turns it on, and made here: no file is loaded.

import { byId } from "./dom.js";

let context = null;
const isOn = () => localStorage.getItem("sound") === "on";

function knock(at, pitch) {
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  tone.frequency.setValueAtTime(pitch, at);
  tone.frequency.exponentialRampToValueAtTime(pitch / 3, at + 0.07);
  volume.gain.setValueAtTime(0.12, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + 0.09);
  tone.connect(volume).connect(context.destination);
  tone.start(at);
  tone.stop(at + 0.1);
}

// Sound a move; one with captures knocks twice.
export function soundMove(captures = false) {
  if (!isOn() || !globalThis.AudioContext) return;
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume();
  knock(context.currentTime, 320);
  if (captures) knock(context.currentTime + 0.09, 210);
}

const button = byId("sound");
function show() {
  button.setAttribute("aria-pressed", isOn());
}
if (button) {
  button.addEventListener("click", () => {
    localStorage.setItem("sound", isOn() ? "off" : "on");
    show();
    soundMove();
  });
  show();
}
