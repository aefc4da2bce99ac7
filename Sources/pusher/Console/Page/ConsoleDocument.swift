extension ConsolePage {
    static func document(nonce: String, configuration: String) -> String {
        #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Pusher console</title>
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\#
        %3Crect width='16' height='16' rx='4' fill='%235b4bd6'/%3E%3Ccircle cx='8' cy='8' r='3' fill='white'/%3E%3C/svg%3E">
        <style nonce="\#(nonce)">
        \#(style)
        </style>
        <script type="application/json" id="configuration">\#(configuration)</script>
        </head>
        <body>
        <a class="skip" href="#log">Skip to the log</a>
        <header>
          <h1><span class="mark" aria-hidden="true"></span>Pusher console</h1>
          <dl>
            <div><dt>server</dt><dd id="address"></dd></div>
            <div><dt>app id</dt><dd id="app-id"></dd></div>
            <div><dt>key</dt><dd id="key"></dd></div>
          </dl>
          <ul id="conditions" aria-label="Active faults"></ul>
          <p id="link" role="status" data-state="waiting">connecting</p>
        </header>
        <main>
          <aside id="state" aria-label="Server state">
            <section aria-labelledby="connections-title">
              <h2 id="connections-title">Connections <span id="connection-count">0</span></h2>
              <ul id="connections" class="list"></ul>
              <p id="connections-more" class="more"></p>
            </section>
            <section aria-labelledby="channels-title">
              <h2 id="channels-title">Channels <span id="channel-count">0</span></h2>
              <ul id="channels" class="list"></ul>
              <p id="channels-more" class="more"></p>
            </section>
          </aside>
          <section id="middle" aria-labelledby="log-title">
            <h2 id="log-title" class="hidden">Log</h2>
            <div class="toolbar">
              <input id="filter" type="search" placeholder="Filter" aria-label="Filter the log" autocomplete="off"
                spellcheck="false">
              <button type="button" id="focus" hidden></button>
              <div id="kinds" role="group" aria-label="Kinds of lines"></div>
              <button type="button" id="pause" aria-pressed="false">Pause</button>
              <button type="button" id="clear">Clear</button>
            </div>
            <div class="columns" aria-hidden="true">
              <span>time</span><span>who</span><span>did</span><span>what</span>
            </div>
            <div id="empty">
              <p><strong>Nothing has happened yet.</strong></p>
              <p>Connect a client with one of the snippets, or publish an event.</p>
            </div>
            <div id="no-match" hidden>
              <p><strong>No line passes the filter.</strong></p>
              <p>Change the filter, or select more kinds of lines.</p>
            </div>
            <div id="log" role="listbox" tabindex="0" aria-labelledby="log-title"><div id="rows"></div></div>
            <button type="button" id="newest" hidden>Newest lines ↓</button>
            <section id="details" aria-label="Selected line" hidden>
              <div class="toolbar">
                <p id="details-title"></p>
                <span class="grow"></span>
                <button type="button" id="reuse">Edit and publish</button>
                <button type="button" id="copy-payload">Copy</button>
                <button type="button" id="close-details" aria-label="Close">✕</button>
              </div>
              <pre id="payload" tabindex="0" aria-label="The whole message"></pre>
            </section>
            <footer><span id="line-count" role="status">0 lines</span><span id="cut" role="status"></span></footer>
          </section>
          <aside id="tools" aria-label="Tools">
            <section aria-labelledby="publish-title">
              <h2 id="publish-title">Publish</h2>
              <form id="publish" autocomplete="off">
                <label for="channel">Channel</label>
                <input id="channel" list="channel-names" required spellcheck="false" value="orders">
                <datalist id="channel-names"></datalist>
                <label for="event">Event</label>
                <input id="event" required spellcheck="false" value="created">
                <label for="data">Data <span id="data-hint"></span></label>
                <textarea id="data" rows="3" spellcheck="false">{"id":1,"item":"coffee"}</textarea>
                <div class="buttons"><button class="primary">Publish <kbd>Ctrl ⏎</kbd></button></div>
                <p id="publish-result" class="result" role="status"></p>
              </form>
            </section>
            <section aria-labelledby="faults-title">
              <h2 id="faults-title">Faults</h2>
              <form id="faults">
                <label for="target">For</label>
                <select id="target"><option value="">all connections</option></select>
                <div class="buttons">
                  <button type="button" data-action="drop" title="Close the TCP connection without a close frame">Drop</button>
                  <button type="button" data-action="silence" title="Stop sending, but continue to read">Silence</button>
                  <button type="button" data-action="speak" title="End the silence">Speak again</button>
                </div>
                <div class="pair">
                  <label for="code">Close code</label>
                  <input id="code" type="number" min="0" max="65535" value="4200" list="codes">
                  <datalist id="codes">
                    <option value="1001">going away</option><option value="4000">switch to TLS</option>
                    <option value="4001">refused</option><option value="4100">back off</option>
                    <option value="4200">reconnect at once</option><option value="4300">refused</option>
                  </datalist>
                  <button type="button" data-action="close">Close</button>
                  <label for="delay">Delay, in ms</label>
                  <input id="delay" type="number" min="0" max="60000" step="100" value="500">
                  <button type="button" data-action="delay" title="Delay all messages on all connections">Delay all</button>
                </div>
                <div class="buttons">
                  <button type="button" data-action="undelay">End delay</button>
                  <button type="button" data-action="rotateKey" title="Change the encryption key without notifying clients">Rotate key</button>
                </div>
                <p id="fault-result" class="result" role="status"></p>
              </form>
            </section>
            <section aria-labelledby="connect-title">
              <h2 id="connect-title">Connect</h2>
              <div id="tabs" role="tablist" aria-labelledby="connect-title"></div>
              <div id="snippet-panel" role="tabpanel" aria-labelledby="connect-title">
                <pre id="snippet" tabindex="0" aria-label="To paste"></pre>
                <div class="buttons"><button type="button" id="copy-snippet">Copy</button></div>
              </div>
            </section>
          </aside>
        </main>
        <script nonce="\#(nonce)">
        \#(script)
        </script>
        </body>
        </html>
        """#
    }
}
