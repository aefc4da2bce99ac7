extension ConsolePage {
    /// The script inserts strings from clients and backends with `textContent`, never as markup.
    static let script = #"""
        "use strict";
        const $ = (id) => document.getElementById(id);
        const element = (name, className, text) => {
          const made = document.createElement(name);
          if (className) made.className = className;
          if (text !== undefined) made.textContent = text;
          return made;
        };
        let configuration = JSON.parse($("configuration").textContent);

        // MARK: The log
        //
        // `rows` contains the newest lines, and `shown` the lines that pass the filter. Only visible lines have an
        // element.

        const ROW_HEIGHT = 22;
        const LIMIT = 20000;
        const KINDS = [
          ["event", "Events"], ["protocol", "Protocol"], ["connection", "Connections"], ["channel", "Channels"],
          ["backend", "Backend"], ["console", "Console"],
        ];
        let rows = [];
        let shown = [];
        /** The lines that arrived during a pause; null if the log is not paused. */
        let held = null;
        /** The number of lines that the page has removed or never received. */
        let cut = 0;
        /** The index of the next line. */
        let expected = 0;
        let selected = null;
        let follows = true;
        let unseen = 0;
        /** The connection or channel to which the log is limited: {socket} or {channel}. */
        let focus = null;
        const hiddenKinds = new Set();
        const log = $("log");
        const pool = [];

        function receive(entries) {
          for (const entry of entries) {
            cut += Math.max(0, entry.index - expected);
            expected = entry.index + 1;
            entry.text = [entry.who, entry.verb, entry.subject, entry.channel, entry.detail].join(" ").toLowerCase();
          }
          if (held) {
            held.push(...entries);
            if (held.length > LIMIT) cut += held.splice(0, held.length - LIMIT).length;
          } else {
            admit(entries);
          }
          draw();
        }

        function admit(entries) {
          let count = 0;
          for (const entry of entries) {
            rows.push(entry);
            if (!passes(entry)) continue;
            shown.push(entry);
            count += 1;
          }
          if (!follows) unseen += count;
          // Trim rarely, because moving the remaining lines takes time.
          if (rows.length > LIMIT + 500) trim();
        }

        function trim() {
          const dropped = new Set(rows.splice(0, rows.length - LIMIT));
          cut += [...dropped].filter((entry) => entry.kind !== "break").length;
          let count = 0;
          while (count < shown.length && dropped.has(shown[count])) count += 1;
          shown.splice(0, count);
          // The text must not move while a person reads.
          if (!follows) log.scrollTop -= count * ROW_HEIGHT;
        }

        function passes(entry) {
          if (entry.kind === "break") return true;
          if (hiddenKinds.has(entry.kind)) return false;
          if (focus?.socket && entry.who !== focus.socket) return false;
          if (focus?.channel && !(entry.channel ?? "").split(", ").includes(focus.channel)) return false;
          return words.every((word) => entry.text.includes(word));
        }

        let words = [];
        function refilter() {
          words = $("filter").value.toLowerCase().split(/\s+/).filter((word) => word);
          shown = rows.filter(passes);
          unseen = 0;
          follows = true;
          draw();
        }

        let isDrawn = true;
        function draw() {
          if (!isDrawn) return;
          isDrawn = false;
          requestAnimationFrame(() => {
            isDrawn = true;
            drawRows();
            drawCounts();
          });
        }

        function drawRows() {
          $("rows").style.height = `${shown.length * ROW_HEIGHT}px`;
          if (follows) log.scrollTop = shown.length * ROW_HEIGHT;
          const first = Math.max(0, Math.floor(log.scrollTop / ROW_HEIGHT) - 5);
          const count = Math.min(shown.length - first, Math.ceil(log.clientHeight / ROW_HEIGHT) + 10);
          while (pool.length < count) {
            const row = element("div", "row");
            row.setAttribute("role", "option");
            row.append(
              element("span", "time"), element("span", "who"), element("span", "verb"), element("span", "what"),
            );
            row.addEventListener("mousedown", () => select(row.entry));
            pool.push(row);
            $("rows").append(row);
          }
          pool.forEach((row, position) => {
            row.hidden = position >= count;
            if (!row.hidden) fill(row, shown[first + position], first + position);
          });
          const active = pool.find((row) => !row.hidden && row.entry === selected);
          if (active) log.setAttribute("aria-activedescendant", active.id);
          else log.removeAttribute("aria-activedescendant");
        }

        function fill(row, entry, position) {
          row.style.transform = `translateY(${position * ROW_HEIGHT}px)`;
          row.setAttribute("aria-selected", entry === selected);
          row.setAttribute("aria-posinset", position + 1);
          row.setAttribute("aria-setsize", shown.length);
          if (row.entry === entry) return;
          row.entry = entry;
          row.id = `line-${entry.index}`;
          row.dataset.kind = entry.kind;
          const [time, who, verb, what] = row.children;
          time.textContent = clock(entry.time);
          who.textContent = entry.who;
          verb.textContent = entry.verb;
          what.replaceChildren();
          if (entry.subject) what.append(element("span", "subject", entry.subject));
          if (entry.channel) {
            if (entry.subject) what.append(element("span", "on", "  "));
            what.append(element("span", "channel", entry.channel));
          }
          if (entry.detail) what.append(element("span", "detail", "  " + entry.detail));
        }

        function drawCounts() {
          const number = (value) => value.toLocaleString("en");
          const all = number(rows.length), some = number(shown.length);
          $("line-count").textContent = (all === some ? `${all} lines` : `${some} of ${all} lines`)
            + (held ? `, ${number(held.length)} held back` : "");
          $("cut").textContent = cut
            ? `${number(cut)} older lines are cut: the server keeps 10,000, this page ${number(LIMIT)}` : "";
          $("empty").hidden = rows.length > 0 || held !== null;
          $("no-match").hidden = rows.length === 0 || shown.length > 0;
          $("newest").hidden = follows || unseen === 0;
          $("newest").textContent = `${number(unseen)} new ↓`;
          $("pause").textContent = held ? `Resume (${number(held.length)})` : "Pause";
        }

        const clock = (time) => {
          const date = new Date(time), two = (number) => String(number).padStart(2, "0");
          return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.`
            + String(date.getMilliseconds()).padStart(3, "0");
        };

        // MARK: Selection

        function select(entry) {
          selected = entry ?? null;
          $("details").hidden = !selected;
          if (selected) {
            $("details-title").textContent = [
              clock(selected.time), selected.who, selected.verb, selected.subject,
              selected.channel ? (selected.subject ? "on " : "") + selected.channel : "",
            ].filter((text) => text).join(" ");
            $("payload").textContent = readable(selected.payload ?? selected.detail)
              + (selected.omittedSize ? `\n… ${selected.omittedSize.toLocaleString("en")} more bytes are left out` : "");
            $("reuse").hidden = !event(selected);
            follows = false;
            reveal(shown.indexOf(selected));
          } else {
            follows = isAtEnd();
          }
          draw();
        }

        // Compare with the drawn height, not with the number of lines, because lines may arrive before the browser
        // reports scrolling.
        const isAtEnd = () => log.scrollTop + log.clientHeight >= log.scrollHeight - ROW_HEIGHT;

        function reveal(position) {
          const top = position * ROW_HEIGHT;
          if (top < log.scrollTop) log.scrollTop = top;
          if (top + ROW_HEIGHT > log.scrollTop + log.clientHeight) log.scrollTop = top + ROW_HEIGHT - log.clientHeight;
        }

        const parse = (text) => {
          try { return JSON.parse(text); } catch { return undefined; }
        };

        /** Returns indented JSON, also for JSON in a string. Does not change other text. */
        function readable(text) {
          const value = parse(text);
          if (value === null || typeof value !== "object") return text || "There are no further details.";
          const inner = typeof value.data === "string" ? parse(value.data) : undefined;
          if (inner !== null && typeof inner === "object") value.data = inner;
          return JSON.stringify(value, null, 2);
        }

        /** Returns the name, channel and data of a line with an event that the page can publish. */
        function event(entry) {
          if (entry.kind === "console" && entry.verb === "published") {
            return {name: entry.subject, channel: entry.channel, data: entry.payload ?? ""};
          }
          const message = entry.kind === "event" || entry.verb === "published" ? parse(entry.payload) : undefined;
          const name = message?.event ?? message?.name;
          if (typeof name !== "string") return null;
          const data = typeof message.data === "string" ? message.data : JSON.stringify(message.data ?? "");
          return {name, channel: message.channel ?? message.channels?.[0] ?? "", data};
        }

        log.addEventListener("keydown", (press) => {
          const page = Math.max(1, Math.floor(log.clientHeight / ROW_HEIGHT) - 1);
          const last = shown.length - 1;
          const current = shown.indexOf(selected);
          const target = {
            ArrowDown: current < 0 ? last : current + 1, ArrowUp: current < 0 ? last : current - 1,
            PageDown: current < 0 ? last : current + page, PageUp: current < 0 ? last : current - page,
            Home: 0, End: last,
          }[press.key];
          if (press.key === "Escape") select(null);
          if (target === undefined || last < 0) return;
          press.preventDefault();
          select(shown[Math.min(last, Math.max(0, target))]);
        });
        log.addEventListener("scroll", () => {
          follows = isAtEnd();
          if (follows) unseen = 0;
          draw();
        });
        new ResizeObserver(draw).observe(log);
        $("newest").addEventListener("click", () => {
          follows = true;
          unseen = 0;
          draw();
        });
        $("close-details").addEventListener("click", () => {
          select(null);
          log.focus();
        });
        $("reuse").addEventListener("click", () => {
          const found = event(selected);
          $("channel").value = found.channel;
          $("event").value = found.name;
          $("data").value = found.data;
          check();
          $("data").focus();
        });
        $("filter").addEventListener("input", refilter);
        $("clear").addEventListener("click", () => {
          rows = [];
          shown = [];
          cut = 0;
          unseen = 0;
          follows = true;
          select(null);
        });
        $("pause").addEventListener("click", () => {
          const waiting = held;
          held = held ? null : [];
          $("pause").setAttribute("aria-pressed", held !== null);
          if (waiting) admit(waiting);
          draw();
        });
        for (const [kind, title] of KINDS) {
          const button = element("button", "", title);
          button.type = "button";
          button.dataset.kind = kind;
          button.setAttribute("aria-pressed", "true");
          button.addEventListener("click", () => {
            if (!hiddenKinds.delete(kind)) hiddenKinds.add(kind);
            button.setAttribute("aria-pressed", !hiddenKinds.has(kind));
            refilter();
          });
          $("kinds").append(button);
        }

        function setFocus(wanted) {
          focus = wanted;
          const name = focus?.socket ?? focus?.channel;
          $("focus").hidden = !focus;
          $("focus").textContent = `${name} ✕`;
          $("focus").setAttribute("aria-label", `Show more than ${name}`);
          if (focus?.channel) $("channel").value = focus.channel;
          drawState();
          $("target").value = focus ? JSON.stringify(focus) : "";
          refilter();
        }
        $("focus").addEventListener("click", () => setFocus(null));

        // MARK: Connections, channels, members

        let state = {connections: [], channels: [], connectionCount: 0, channelCount: 0, delay: 0, isSilent: false};

        /** Updates the list to the items. Does not replace unchanged elements, because they may have the focus. */
        function drawList(list, items, keyOf, fillItem) {
          const existing = new Map([...list.children].map((item) => [item.dataset.key, item]));
          items.forEach((item, position) => {
            const key = keyOf(item);
            let entry = existing.get(key);
            existing.delete(key);
            if (!entry) {
              entry = element("li");
              entry.dataset.key = key;
              const button = element("button");
              button.type = "button";
              button.append(element("span", "count"), element("span", "name"), element("span", "facts"));
              entry.append(button);
            }
            if (list.children[position] !== entry) list.insertBefore(entry, list.children[position] ?? null);
            fillItem(entry.firstChild, item);
          });
          for (const entry of existing.values()) entry.remove();
        }

        function fillButton(button, name, count, facts, wanted) {
          const [countElement, nameElement, factsElement] = button.children;
          nameElement.textContent = name;
          countElement.textContent = count;
          factsElement.textContent = facts;
          const isFocused = JSON.stringify(focus) === JSON.stringify(wanted);
          button.setAttribute("aria-pressed", isFocused);
          button.onclick = () => setFocus(isFocused ? null : wanted);
        }

        const plural = (count, name) => `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;

        function drawState() {
          $("connection-count").textContent = state.connectionCount.toLocaleString("en");
          $("channel-count").textContent = state.channelCount.toLocaleString("en");
          drawList($("connections"), state.connections, (connection) => connection.id, (button, connection) => {
            const facts = [connection.user && `user ${connection.user}`, connection.client].filter((text) => text);
            button.classList.toggle("silent", connection.isSilent);
            fillButton(
              button, connection.id, plural(connection.channels.length, "channel"), facts.join(", "),
              {socket: connection.id},
            );
          });
          drawList($("channels"), state.channels, (channel) => channel.name, (button, channel) => {
            fillButton(
              button, channel.name, channel.subscriberCount.toLocaleString("en"), (channel.members ?? []).join(", "),
              {channel: channel.name},
            );
            button.firstChild.title = plural(channel.subscriberCount, "subscriber");
          });
          const more = (count, list) => (count > list.length ? `and ${(count - list.length).toLocaleString("en")} more` : "");
          $("connections-more").textContent = state.connectionCount
            ? more(state.connectionCount, state.connections) : "No client is connected.";
          $("channels-more").textContent = state.channelCount
            ? more(state.channelCount, state.channels) : "Nobody is subscribed.";
          $("channel-names").replaceChildren(...state.channels.map((channel) => {
            const option = element("option");
            option.value = channel.name;
            return option;
          }));
          drawTargets();
          const conditions = [
            state.delay ? `delay ${state.delay} ms` : "", state.isSilent ? "silent" : "",
          ].filter((text) => text);
          $("conditions").replaceChildren(...conditions.map((text) => element("li", "", text)));
        }

        function drawTargets() {
          const chosen = $("target").value;
          const option = (value, text) => {
            const made = element("option", "", text);
            made.value = value;
            return made;
          };
          $("target").replaceChildren(
            option("", "all connections"),
            ...state.connections.map(({id}) => option(JSON.stringify({socket: id}), `connection ${id}`)),
            ...state.channels.map(({name}) => option(JSON.stringify({channel: name}), `subscribers of ${name}`)),
          );
          // Keep the chosen target even if its connection has ended. Otherwise, a fault would apply to all connections.
          if (![...$("target").options].some((known) => known.value === chosen)) {
            const {socket, channel} = JSON.parse(chosen);
            $("target").append(option(chosen, `${socket ?? channel} (no longer active)`));
          }
          $("target").value = chosen;
        }

        // MARK: Actions

        async function act(action, result) {
          result.classList.remove("failed");
          result.textContent = "…";
          try {
            const response = await fetch("/actions", {
              method: "POST", headers: {"X-Console-Token": configuration.token}, body: JSON.stringify(action),
            });
            result.classList.toggle("failed", !response.ok);
            result.textContent = await response.text();
          } catch {
            result.classList.add("failed");
            result.textContent = "The server does not answer. Is pusher serve still running?";
          }
        }

        function check() {
          const text = $("data").value;
          $("data-hint").textContent = parse(text) === undefined ? "not JSON, sent unchanged" : "JSON";
        }
        $("data").addEventListener("input", check);
        check();
        $("publish").addEventListener("submit", (submission) => {
          submission.preventDefault();
          const action = {
            action: "publish", channel: $("channel").value, event: $("event").value, data: $("data").value,
          };
          act(action, $("publish-result"));
        });
        $("publish").addEventListener("keydown", (press) => {
          if (press.key === "Enter" && (press.ctrlKey || press.metaKey)) $("publish").requestSubmit();
        });

        $("faults").addEventListener("submit", (submission) => submission.preventDefault());
        for (const button of $("faults").querySelectorAll("[data-action]")) {
          button.addEventListener("click", () => {
            const name = button.dataset.action;
            const target = $("target").value ? JSON.parse($("target").value) : {};
            const action = {
              close: () => ({action: name, code: $("code").valueAsNumber, reason: "", ...target}),
              delay: () => ({action: name, milliseconds: $("delay").valueAsNumber}),
              undelay: () => ({action: "delay", milliseconds: 0}),
              rotateKey: () => ({action: name}),
            }[name] ?? (() => ({action: name, ...target}));
            act(action(), $("fault-result"));
          });
        }

        // MARK: Snippets

        async function copy(text, button) {
          try {
            await navigator.clipboard.writeText(text);
            button.textContent = "Copied";
          } catch {
            button.textContent = "Not allowed: select the text";
          }
          setTimeout(() => { button.textContent = "Copy"; }, 2000);
        }
        for (const [button, source] of [["copy-snippet", "snippet"], ["copy-payload", "payload"]]) {
          $(button).addEventListener("click", () => copy($(source).textContent, $(button)));
        }

        function drawConfiguration() {
          $("address").textContent = `${configuration.host}:${configuration.port}`;
          $("app-id").textContent = configuration.appID;
          $("key").textContent = configuration.key;
          document.title = `Pusher console, port ${configuration.port}`;
          const tabs = configuration.snippets.map(({name, text}, position) => {
            const tab = element("button", "", name);
            tab.type = "button";
            tab.setAttribute("role", "tab");
            tab.setAttribute("aria-controls", "snippet-panel");
            const choose = () => {
              for (const other of tabs) {
                other.setAttribute("aria-selected", other === tab);
                other.tabIndex = other === tab ? 0 : -1;
              }
              $("snippet").textContent = text;
            };
            tab.addEventListener("click", choose);
            tab.addEventListener("keydown", (press) => {
              const step = {ArrowRight: 1, ArrowLeft: -1}[press.key];
              if (!step) return;
              const next = tabs.at((position + step) % tabs.length);
              next.focus();
              next.click();
            });
            return tab;
          });
          $("tabs").replaceChildren(...tabs);
          tabs[0].click();
        }

        // MARK: The connection to the console

        function showLink(name, text) {
          $("link").dataset.state = name;
          $("link").textContent = text;
        }

        function follow() {
          const updates = new EventSource(`/updates?token=${configuration.token}&from=${expected}`);
          updates.onopen = () => showLink("live", "live");
          updates.onmessage = ({data}) => {
            const update = JSON.parse(data);
            receive(update.entries);
            if (update.next > expected) {
              cut += update.next - expected;
              expected = update.next;
            }
            if (update.state) {
              state = update.state;
              drawState();
            }
          };
          updates.onerror = () => {
            showLink("lost", "not connected");
            // In all other states, the browser reconnects by itself.
            if (updates.readyState === EventSource.CLOSED) setTimeout(renew, 1000);
          };
        }

        /** Handles a restart of the server, which then has another token. Keeps the displayed lines. */
        async function renew() {
          try {
            const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
            const renewed = JSON.parse(page.getElementById("configuration").textContent);
            if (renewed.token !== configuration.token) {
              configuration = renewed;
              expected = 0;
              const line = {
                index: -1 - rows.length, time: Date.now(), kind: "break", who: "console", verb: "", text: "", detail: "",
                subject: "The server was started again.",
              };
              if (held) held.push(line);
              else admit([line]);
              drawConfiguration();
            }
            follow();
          } catch {
            setTimeout(renew, 1000);
          }
        }

        drawConfiguration();
        drawState();
        drawCounts();
        follow();
        """#
}
