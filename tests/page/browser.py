"""Chromium, driven by its own protocol of two pipes (--remote-debugging-pipe): no driver, no port, no other process."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile


class Browser:
    """One window. What the console and the page complain of is kept in `errors`."""

    def __init__(self, program="/usr/bin/chromium"):
        self.folder = tempfile.mkdtemp(dir=".")
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()

        def pipes():  # the browser reads from 3, and writes to 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             # Else it takes a page that changes its address 200 times in half a minute for a hostile one.
             "--disable-ipc-flooding-protection", "--disable-dev-shm-usage", "--user-data-dir=" + self.folder, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open("chromium.log", "wb"),
            preexec_fn=pipes, close_fds=False)
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.answers, self.errors, self.requests = 0, b"", {}, [], []
        self.events, self.session = [], None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t for t in targets if t["type"] == "page")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while self.number not in self.answers:
            self.receive()
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.come], [], [], 600)[0]:
                raise RuntimeError("Chromium does not answer")
            more = os.read(self.come, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended: " + open("chromium.log").read()[-1000:])
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
            return
        method, parameters = message["method"], message["params"]
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description") or str(parameters))
        elif method == "Log.entryAdded":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str([a.get("value") for a in parameters["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def evaluate(self, expression):
        """What an expression is, or what it promises."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        """Until it is true: there is no time after which it has failed."""
        self.evaluate(f"new Promise(done => {{ const look = () => ({expression}) ? done() : setTimeout(look, 10); look() }})")

    def window(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, fragment=""):
        # From one fragment to another no page is loaded; from a blank page one is.
        self.go("about:blank")
        self.go("file://" + os.path.abspath(path) + fragment)

    def go(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.receive()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        open(path, "wb").write(base64.b64decode(data))

    def click(self, x, y):
        for kind in "mouseMoved", "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key, text=""):
        codes = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = codes.get(key, 0)
        if len(key) == 1:
            text = key
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, text=text,
                  windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
