// The demo: three clients of readmark in one page, and a hand that plays the IM backend. All that a client does, it
// does by the SDK; the backend's part goes to /demo/api/events, as a backend's goes to /v1/events.
import { connect } from "./readmark.js";

const FIRST_UID = 9_200_000_000_000_000_000n;
const UIDS_PER_ROOM = 1_000n;
const ROOMS = 20_000_000_000_000;
const CROWD = 100;
const CROWD_READS_FOR_MS = 5_000;
const CROWD_STEP_MS = 250;
const NAMES_SHOWN = 12;
const MESSAGES_SHOWN = 50;

const people = new Map([[1n, "Ann"], [2n, "Bob"], [3n, "Cleo"]]);
const ANN = 1n, BOB = 2n, CLEO = 3n, FIRST_OF_CROWD = 100n;

const element = (id) => document.getElementById(id);
const make = (tag, className = "", text = "") => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
};

// ---- the room, which the address names

function place() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = /^\d{1,14}$/.test(given.get("room") ?? "") ? given.get("room") : null;
  return { number, view: given.get("view") ?? "all" };
}

class Room {
  constructor(number) {
    this.number = number;
    this.id = `demo-${number}`;
    /** A recall is the IM's to tell: readmark tells what it does to unread, and answers no tally of it. */
    this.recalled = new Set();
  }

  uid(person) {
    return String(FIRST_UID + BigInt(this.number) * UIDS_PER_ROOM + person);
  }

  name(uid) {
    const person = BigInt(uid) - FIRST_UID - BigInt(this.number) * UIDS_PER_ROOM;
    return people.get(person) ?? `Reader ${person - FIRST_OF_CROWD + 1n}`;
  }

  address(view) {
    return `#room=${this.number}&view=${view}`;
  }
}

// ---- the IM backend

async function call(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const read = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(read.detail ?? `${path} answers ${answer.status}`);
  return read;
}

class Backend {
  constructor(room) {
    this.room = room;
    this.head = 0;
    this.cleoIsHere = true;
  }

  event(type, fields) {
    return { type, conversation_id: this.room.id, occurred_at: String(Date.now()), ...fields };
  }

  tell(events) {
    return call("api/events", { events });
  }

  joins(person) {
    return this.event("member_joined", { uid: this.room.uid(person), at_seq: String(this.head) });
  }

  open() {
    return this.tell([ANN, BOB, CLEO].map((person) => this.joins(person)));
  }

  send(count) {
    const events = [];
    for (let n = 1; n <= count; n++) {
      const seq = String(this.head + n);
      events.push(this.event("message_sent", { seq, msg_id: seq, sender_uid: this.room.uid(ANN) }));
    }
    this.head += count;
    return this.tell(events);
  }

  async recall(seq) {
    await this.tell([this.event("message_recalled", { seq: String(seq) })]);
    this.room.recalled.add(seq);
  }

  async cleoLeavesOrJoins() {
    await this.tell([this.cleoIsHere
      ? this.event("member_left", { uid: this.room.uid(CLEO), at_seq: String(this.head) })
      : this.joins(CLEO)]);
    this.cleoIsHere = !this.cleoIsHere;
  }

  async crowd() {
    const readers = Array.from({ length: CROWD }, (_, n) => FIRST_OF_CROWD + BigInt(n));
    await this.tell(readers.map((reader) => this.joins(reader)));
    await this.send(1);
    const seq = String(this.head);
    const waiting = readers.map((reader) => ({ reader, at: Math.random() * CROWD_READS_FOR_MS }));
    for (let now = CROWD_STEP_MS; waiting.length > 0; now += CROWD_STEP_MS) {
      await new Promise((resolve) => setTimeout(resolve, CROWD_STEP_MS));
      const due = waiting.filter(({ at }) => at <= now);
      due.forEach((one) => waiting.splice(waiting.indexOf(one), 1));
      if (due.length > 0) {
        await this.tell(due.map(({ reader }) =>
          this.event("read", { uid: this.room.uid(reader), endpoint: "phone", up_to_seq: seq })));
      }
    }
  }
}

// ---- the windows

/** What all windows have: a title with the unread badge and the state of the connection, and messages. */
class Window {
  constructor(room, person, endpoint, title) {
    this.room = room;
    this.uid = room.uid(person);
    this.root = make("section", "window");
    this.root.setAttribute("aria-label", title);
    const head = make("div", "title");
    this.badge = make("span", "badge none", "0");
    this.badge.setAttribute("role", "status");
    this.state = make("span", "state", "connecting");
    head.append(make("h2", "who", title), this.state, this.badge);
    this.messages = make("ol", "messages");
    this.messages.tabIndex = 0;
    this.messages.setAttribute("aria-label", `Messages of ${title}`);
    this.below = make("div", "below");
    this.root.append(head, this.messages, this.below);
    this.client = connect({
      url: location.origin,
      uid: this.uid,
      token: async () => (await call("api/token", { uid: this.uid, endpoint })).token,
    });
    this.client.on("status", () => this.draw());
    this.client.on("unread", () => this.draw());
  }

  get conversation() {
    return this.client.conversation(this.room.id);
  }

  get head() {
    return Number(this.conversation?.headSeq ?? "0");
  }

  draw() {
    const { state } = this.client.status;
    const { stale } = this.client.picture;
    const unread = this.conversation?.unread ?? 0;
    const marked = this.conversation?.markedUnread ?? false;
    this.root.classList.toggle("away", stale || state !== "live");
    this.state.textContent = state === "live" ? "live" : state === "connecting" ? "connecting" : "offline";
    this.badge.textContent = unread > 0 ? String(unread) : marked ? "●" : "0";
    this.badge.className = unread > 0 || marked ? "badge" : "badge none";
    this.badge.classList.toggle("muted", (this.conversation?.muted ?? false) && (unread > 0 || marked));
    this.badge.setAttribute("aria-label", `${unread} unread${marked ? ", marked unread" : ""}`);
    this.drawMessages();
  }

  drawMessages() {
    const first = Math.max(1, this.head - MESSAGES_SHOWN + 1);
    const rows = [];
    for (let seq = first; seq <= this.head; seq++) rows.push(...this.rows(seq));
    if (rows.length === 0) rows.push(make("li", "empty", "No messages yet"));
    const isAtEnd = this.messages.scrollHeight - this.messages.scrollTop - this.messages.clientHeight < 40;
    const focused = this.messages.contains(document.activeElement) ? document.activeElement.closest("li") : null;
    this.messages.replaceChildren(...rows);
    // Whoever goes through the messages by keyboard stays where it was.
    if (focused) this.messages.querySelector(`[data-seq="${focused.dataset.seq}"] button`)?.focus();
    if (isAtEnd) this.messages.scrollTop = this.messages.scrollHeight;
  }

  action(name, act) {
    const button = make("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => attempt(() => act(button)));
    return button;
  }

  close() {
    return this.client.close({ forget: true });
  }
}

class SenderWindow extends Window {
  constructor(room) {
    super(room, ANN, "ann-laptop", "Ann sends");
    this.names = make("p", "names");
    this.names.setAttribute("aria-live", "polite");
    this.below.append(this.names);
    this.client.on("receipt", () => { this.draw(); this.askWho(); });
    this.watched = 0;
    this.stopWatching = () => {};
    this.draw();
  }

  draw() {
    super.draw();
    if (this.head !== this.watched) {
      this.watched = this.head;
      this.stopWatching();
      const messages = [];
      for (let seq = Math.max(1, this.head - MESSAGES_SHOWN + 1); seq <= this.head; seq++) {
        messages.push({ conversationId: this.room.id, seq });
      }
      this.stopWatching = this.client.watch(messages);
      this.askWho();
    }
  }

  rows(seq) {
    const receipt = this.client.receipt(this.room.id, seq);
    const isRecalled = this.isRecalled(seq);
    const row = make("li", isRecalled ? "mine recalled" : "mine");
    row.dataset.seq = String(seq);
    const isAll = receipt?.allRead && !isRecalled;
    const tally = make("span", isAll ? "tally all" : "tally", isRecalled ? "recalled" : tallyText(receipt));
    row.append(make("span", "text", `Message ${seq}`), tally);
    return [row];
  }

  isRecalled(seq) {
    return this.room.recalled.has(seq) || (this.client.receipt(this.room.id, seq)?.recalled ?? false);
  }

  /** Who has not read the newest message; asked for once at a time, and again when it changed meanwhile. */
  async askWho() {
    if (this.asking) { this.askAgain = true; return; }
    this.asking = true;
    do {
      this.askAgain = false;
      await this.showWho().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 200));
    } while (this.askAgain);
    this.asking = false;
  }

  async showWho() {
    const seq = this.head;
    if (seq === 0 || this.isRecalled(seq)) {
      this.names.replaceChildren();
      return;
    }
    const page = await this.client.unreadMembers({ conversationId: this.room.id, seq }, { limit: NAMES_SHOWN });
    const missing = page.total - page.read;
    const label = make("strong", "", missing === 0 ? `Everybody has read message ${seq}` : `Not read message ${seq}: `);
    const names = page.uids.map((uid) => this.room.name(uid)).join(", ");
    const rest = missing > page.uids.length ? ` and ${missing - page.uids.length} more` : "";
    this.names.replaceChildren(label, missing === 0 ? "" : names + rest);
  }
}

class ReaderWindow extends Window {
  constructor(room, endpoint, title) {
    super(room, BOB, endpoint, title);
    const buttons = make("div", "buttons");
    this.mark = this.action("Mark unread", () => this.client.unreadMark(room.id, !this.conversation?.markedUnread));
    this.mute = this.action("Mute", () => this.client.mute(room.id, !this.conversation?.muted));
    this.receiptsOn = true;
    this.receipts = this.action("Receipts off", async () => {
      await this.client.settings({ receipts: !this.receiptsOn });
      this.receiptsOn = !this.receiptsOn;
      this.draw();
    });
    buttons.append(
      this.action("Read all", () => this.client.markRead(room.id, this.head)),
      this.action("Clear", () => this.client.clear(room.id)),
      this.mark, this.mute, this.receipts,
    );
    this.below.append(buttons);
    this.draw();
  }

  draw() {
    super.draw();
    if (!this.mark) return;
    this.mark.textContent = this.conversation?.markedUnread ? "Unmark" : "Mark unread";
    this.mute.textContent = this.conversation?.muted ? "Unmute" : "Mute";
    this.receipts.textContent = this.receiptsOn ? "Receipts off" : "Receipts on";
  }

  rows(seq) {
    const floor = Number(this.conversation?.floorSeq ?? "0");
    const row = make("li");
    row.dataset.seq = String(seq);
    const read = make("button", "", `Message ${seq}`);
    read.type = "button";
    read.title = "Read up to here";
    read.addEventListener("click", () => attempt(() => this.client.markRead(this.room.id, seq)));
    row.append(read);
    return seq === floor + 1 && (this.conversation?.unread ?? 0) > 0 ? [make("li", "new-line", "New"), row] : [row];
  }
}

function tallyText(receipt) {
  if (!receipt) return "";
  if (receipt.allRead) return `read by all ${receipt.total}`;
  return `read by ${receipt.read} of ${receipt.total}`;
}

// ---- the page

async function attempt(act) {
  const said = element("said");
  try {
    said.textContent = "";
    await act();
  } catch (error) {
    said.textContent = `That did not work: ${error.message}. It may be tried again.`;
  }
}

function windowsOf(view, room) {
  switch (view) {
    case "sender": return [new SenderWindow(room)];
    case "phone": return [new ReaderWindow(room, "bob-phone", "Bob's phone")];
    default: return [
      new SenderWindow(room),
      new ReaderWindow(room, "bob-phone", "Bob's phone"),
      new ReaderWindow(room, "bob-laptop", "Bob's laptop"),
    ];
  }
}

async function start() {
  let { number, view } = place();
  const isNew = number === null;
  const room = new Room(isNew ? String(Math.floor(Math.random() * ROOMS)) : number);
  const backend = new Backend(room);
  if (isNew) {
    await backend.open();
    history.replaceState(null, "", room.address(view));
  }
  const windows = windowsOf(view, room);
  element("windows").className = windows.length === 1 ? "single" : "";
  element("windows").replaceChildren(...windows.map((one) => one.root));
  element("link-sender").href = room.address("sender");
  element("link-reader").href = room.address("phone");

  const act = (id, doIt) => {
    element(id).addEventListener("click", async () => {
      // Other windows may have sent meanwhile.
      backend.head = Math.max(backend.head, ...windows.map((one) => one.head));
      element(id).disabled = true;
      await attempt(doIt);
      element(id).disabled = false;
      windows.forEach((one) => one.draw());
      element("leave").textContent = backend.cleoIsHere ? "Cleo leaves" : "Cleo joins again";
    });
  };
  act("send", () => backend.send(1));
  act("send-five", () => backend.send(5));
  act("crowd", () => backend.crowd());
  act("recall", () => (backend.head > 0 ? backend.recall(backend.head) : undefined));
  act("leave", () => backend.cleoLeavesOrJoins());
  element("new-room").addEventListener("click", async () => {
    await Promise.all(windows.map((one) => one.close()));
    location.hash = "";
    location.reload();
  });
}

attempt(start);
