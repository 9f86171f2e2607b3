// The server, as the page uses it.
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
  }
}

export class Server {
  constructor() {
    this.key = "";
  }

  models() {
    return this.ask("v1/models");
  }

  // The description of a model's encoder, and its ETag.
  async encoder(model) {
    const response = await this.response(`v1/models/${encodeURIComponent(model)}/encoder`);
    return { description: await response.json(), tag: response.headers.get("ETag") };
  }

  // The answer to one message; one that an encoder of this ETag made.
  predict(model, { body, type, tag }, returns) {
    const query = returns.length ? `?return=${returns.join(",")}` : "";
    const headers = { "Content-Type": type, ...(tag ? { "Lowtide-Encoder": tag } : {}) };
    return this.ask(`v1/models/${encodeURIComponent(model)}/predict${query}`, { method: "POST", headers, body });
  }

  async ask(path, request) {
    return (await this.response(path, request)).json();
  }

  async response(path, request = {}) {
    const headers = { Accept: "application/json", ...request.headers };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let response;
    try {
      response = await fetch(path, { ...request, headers, cache: "no-store" });
    } catch {
      throw new Refusal(0, { detail: "The server does not answer." });
    }
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
    return response;
  }
}
