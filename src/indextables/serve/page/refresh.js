// Auto-refresh: looks for a new version now and then, and says so.

import { remember, remembered } from "./format.js";

const KEY = "indextables.refresh";

export class AutoRefresh {
  /** `look()` shows what is new, and gives the reason if it cannot; `now()` is the time as text. */
  constructor({ choice, said, look, now }) {
    Object.assign(this, { choice, said, look, now, timer: 0 });
  }

  start() {
    this.choice.value = remembered(KEY) ?? "0";
    if (this.choice.selectedIndex < 0) this.choice.value = "0";
    this.choice.addEventListener("change", () => {
      remember(KEY, this.choice.value);
      this.schedule();
      if (this.seconds) this.tick();
    });
    document.addEventListener("visibilitychange", () => !document.hidden && this.seconds && this.tick());
    this.schedule();
  }

  get seconds() {
    return Number(this.choice.value);
  }

  schedule() {
    clearInterval(this.timer);
    this.say(this.seconds ? "on" : "off", "");
    if (this.seconds) this.timer = setInterval(() => document.hidden || this.tick(), this.seconds * 1000);
  }

  async tick() {
    try {
      const reason = await this.look();
      if (this.seconds) this.say(reason === null ? "on" : "waiting", reason ?? `checked ${this.now()}`);
    } catch (error) {
      if (this.seconds) this.say("failing", error.message);
    }
  }

  say(state, text) {
    this.said.parentElement.dataset.refresh = state;
    this.said.textContent = text;
  }
}
