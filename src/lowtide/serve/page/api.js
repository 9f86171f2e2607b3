// The server, as the page uses it.
import { CODES_TYPE, ROWS_TYPE } from "./wire.js";

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

  encoder(model) {
    return this.ask(`v1/models/${encodeURIComponent(model)}/encoder`);
  }

  // The answer to one message of codes, or of rows.
  predict(model, message, { coded, returns }) {
    const query = returns.length ? `?return=${returns.join(",")}` : "";
    return this.ask(`v1/models/${encodeURIComponent(model)}/predict${query}`, {
      method: "POST",
      headers: { "Content-Type": coded ? CODES_TYPE : ROWS_TYPE },
      body: message,
    });
  }

  async ask(path, request = {}) {
    const headers = { Accept: "application/json", ...request.headers };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let response;
    try {
      response = await fetch(path, { ...request, headers, cache: "no-store" });
    } catch {
      throw new Refusal(0, { detail: "The server does not answer." });
    }
    const content = await response.json().catch(() => ({}));
    if (!response.ok) throw new Refusal(response.status, content);
    return content;
  }
}
