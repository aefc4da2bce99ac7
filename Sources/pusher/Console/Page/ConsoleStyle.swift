extension ConsolePage {
    static let style = #"""
        :root {
          color-scheme: light dark;
          --page: #f3f4f6; --panel: #ffffff; --line: #e1e4e8; --edge: #8b949e; --field: #ffffff; --hover: #f0f2f5; --selected: #e7e9fb;
          --text: #1c2128; --muted: #59636e; --accent: #5343c9; --on-accent: #ffffff;
          --green: #1a7040; --blue: #0b5cad; --violet: #7038b8; --amber: #8a5300; --red: #b3261e;
          --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #0e1116; --panel: #151a21; --line: #2a313b; --edge: #68737f; --field: #0e1116; --hover: #1c232c; --selected: #2a2a52;
            --text: #e3e7ec; --muted: #98a3b0; --accent: #a79bff; --on-accent: #14112e;
            --green: #56c98a; --blue: #6cb2ff; --violet: #c79bff; --amber: #e5ad57; --red: #ff8a80;
          }
        }
        * { box-sizing: border-box; margin: 0; scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
        html, body { height: 100%; }
        body {
          display: flex; flex-direction: column; background: var(--page); color: var(--text);
          font: 13px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif;
        }
        h1, h2 { font-size: inherit; font-weight: 600; }
        ul { list-style: none; padding: 0; }
        button, input, select, textarea { font: inherit; color: inherit; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
        [hidden] { display: none !important; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        .skip { position: absolute; left: -9999px; }
        .skip:focus { left: 8px; top: 8px; z-index: 2; padding: 4px 8px; background: var(--panel); }
        .grow { flex: 1; }

        header {
          display: flex; flex-wrap: wrap; align-items: center; gap: 4px 20px; padding: 8px 14px;
          background: var(--panel); border-bottom: 1px solid var(--line);
        }
        h1 { display: flex; align-items: center; gap: 8px; font-size: 14px; }
        .mark { width: 12px; height: 12px; border-radius: 3px; background: var(--accent); }
        dl { display: flex; flex-wrap: wrap; gap: 2px 16px; flex: 1; }
        dl div { display: flex; gap: 6px; }
        dt { color: var(--muted); }
        dd { font-family: var(--mono); font-size: 12px; line-height: 19px; }
        #conditions { display: flex; gap: 6px; }
        #conditions li {
          padding: 0 8px; border: 1px solid var(--red); border-radius: 9px; color: var(--red); font-size: 12px;
        }
        #link::before {
          content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 50%;
          background: var(--muted);
        }
        #link[data-state=live]::before { background: var(--green); }
        #link[data-state=lost]::before { background: var(--red); }
        #link[data-state=lost] { color: var(--red); }

        main {
          flex: 1; min-height: 0; display: grid; gap: 1px; background: var(--line);
          grid-template-columns: 236px minmax(0, 1fr) 304px;
        }
        main > * { background: var(--panel); min-height: 0; min-width: 0; }
        aside { overflow: auto; }
        aside section { padding: 10px 14px 14px; }
        aside section + section { border-top: 1px solid var(--line); }
        h2 { margin-bottom: 6px; }
        h2 span { color: var(--muted); font-weight: 400; margin-left: 2px; }

        #state section { padding-left: 6px; padding-right: 6px; }
        #state h2, .more { padding-left: 8px; }
        .list button {
          display: block; width: 100%; padding: 3px 8px; border: 0; border-radius: 5px; background: none;
          text-align: left; cursor: pointer; overflow-wrap: anywhere;
        }
        .list button:hover { background: var(--hover); }
        .list button[aria-pressed=true] { background: var(--selected); }
        .list .name { font: 12px/18px var(--mono); }
        .list .facts { display: block; color: var(--muted); font-size: 12px; }
        .list .facts:empty { display: none; }
        .list .count { float: right; color: var(--muted); font-size: 12px; padding-left: 8px; }
        .silent .name::after { content: " silent"; color: var(--red); font-family: system-ui, sans-serif; }
        .more { color: var(--muted); }

        #middle { display: flex; flex-direction: column; position: relative; }
        .toolbar {
          display: flex; flex-wrap: wrap; align-items: center; gap: 6px; padding: 7px 10px;
          border-bottom: 1px solid var(--line);
        }
        #filter { flex: 1 1 90px; width: 90px; max-width: 260px; }
        #kinds { display: flex; flex-wrap: wrap; }
        #kinds button { border-radius: 0; margin-left: -1px; padding: 3px 8px; font-size: 12px; }
        #kinds button:first-child { border-radius: 6px 0 0 6px; margin-left: 0; }
        #kinds button:last-child { border-radius: 0 6px 6px 0; }
        #kinds button[aria-pressed=false] { color: var(--muted); text-decoration: line-through; }
        #focus { color: var(--accent); border-color: var(--accent); font-family: var(--mono); font-size: 12px; }
        #pause[aria-pressed=true] { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }

        .columns, .row {
          display: grid; grid-template-columns: 88px 108px 84px minmax(0, 1fr); column-gap: 10px; padding: 0 12px;
        }
        .columns { color: var(--muted); font-size: 12px; line-height: 22px; border-bottom: 1px solid var(--line); }
        #log { flex: 1; min-height: 80px; overflow-y: auto; overflow-x: hidden; }
        #log:focus-visible { outline-offset: -2px; }
        #rows { position: relative; }
        .row {
          position: absolute; left: 0; right: 0; top: 0; height: 22px; font: 12px/22px var(--mono); cursor: default;
        }
        .row span { overflow: hidden; text-overflow: ellipsis; white-space: pre; }
        .row:hover { background: var(--hover); }
        .row[aria-selected=true] { background: var(--selected); }
        .row .time, .row .detail, .row .on { color: var(--muted); }
        .row[data-kind=event] .subject { color: var(--green); font-weight: 600; }
        .row[data-kind=protocol] .subject { color: var(--muted); }
        .row[data-kind=connection] .verb { color: var(--blue); }
        .row[data-kind=channel] .verb { color: var(--violet); }
        .row[data-kind=backend] .verb { color: var(--amber); }
        .row[data-kind=console] .verb, .row[data-kind=console] .who { color: var(--accent); }
        .row[data-kind=break] { color: var(--red); }
        #empty, #no-match { padding: 48px 20px 0; text-align: center; color: var(--muted); }
        #newest {
          position: absolute; right: 20px; bottom: 40px; background: var(--accent); border-color: var(--accent);
          color: var(--on-accent);
        }
        #details { display: flex; flex-direction: column; height: 34%; border-top: 1px solid var(--line); }
        #details .toolbar { padding-top: 4px; padding-bottom: 4px; }
        #details-title { font: 12px/18px var(--mono); overflow-wrap: anywhere; }
        #payload { flex: 1; }
        #details + footer { border-top: 1px solid var(--line); }
        footer { display: flex; gap: 16px; padding: 4px 12px; color: var(--muted); font-size: 12px; }
        #cut { color: var(--amber); }

        pre {
          overflow: auto; padding: 8px 12px; font: 12px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere;
        }
        #snippet {
          white-space: pre; overflow-wrap: normal; margin-top: 6px; border: 1px solid var(--line); border-radius: 6px;
          background: var(--page);
        }
        label { display: block; margin: 6px 0 2px; color: var(--muted); }
        input, select, textarea {
          width: 100%; padding: 3px 7px; border: 1px solid var(--edge); border-radius: 6px; background: var(--field);
        }
        input:not(#filter), textarea { font-family: var(--mono); font-size: 12px; line-height: 18px; }
        textarea { display: block; resize: vertical; }
        button {
          padding: 2px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--field); cursor: pointer;
        }
        button:hover { background: var(--hover); }
        .primary, .primary:hover { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
        kbd { font: inherit; font-size: 11px; margin-left: 4px; }
        .buttons { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 8px; }
        .pair { display: grid; grid-template-columns: 84px 1fr 84px; gap: 6px; margin-top: 8px; align-items: center; }
        .pair label { margin: 0; }
        .pair button { padding-left: 4px; padding-right: 4px; }
        .result { margin-top: 6px; color: var(--muted); overflow-wrap: anywhere; }
        .result:empty { display: none; }
        .result.failed { color: var(--red); }
        #data-hint { float: right; }
        [role=tablist] { display: flex; gap: 2px; border-bottom: 1px solid var(--line); }
        [role=tab] { border: 0; border-bottom: 2px solid transparent; border-radius: 0; background: none; }
        [role=tab][aria-selected=true] { border-bottom-color: var(--accent); }

        @media (max-width: 1080px) {
          main { grid-template-columns: 216px minmax(0, 1fr); grid-template-rows: minmax(320px, 1fr) auto; overflow: auto; }
          #tools { grid-column: 1 / -1; display: flex; flex-wrap: wrap; overflow: visible; }
          #tools section { flex: 1 1 280px; min-width: 0; border-top: 0; }
        }
        @media (max-width: 700px) {
          html, body { height: auto; }
          main { display: block; overflow: visible; }
          aside, #state { overflow: visible; border-bottom: 1px solid var(--line); }
          #middle { height: 78vh; border-bottom: 1px solid var(--line); }
          .columns, .row { grid-template-columns: 60px 64px 66px minmax(0, 1fr); column-gap: 6px; }
          #filter, #kinds { flex: 1 1 100%; max-width: none; }
          #kinds { gap: 4px; }
          #kinds button, #kinds button:first-child, #kinds button:last-child {
            flex: 1 1 auto; margin-left: 0; border-radius: 6px;
          }
          .row .time { direction: rtl; }
        }
        """#
}
