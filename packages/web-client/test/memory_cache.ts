/** The part of the browser's Cache that is used here, in memory. */
export class MemoryCache {
  private readonly responses = new Map<string, Response>();
  private puts: Promise<unknown> = Promise.resolve();

  /** Everything that was to be stored is stored, or has failed. */
  async idle(): Promise<void> {
    await this.puts;
  }

  async match(request: Request | string): Promise<Response | undefined> {
    return this.responses.get(urlOf(request))?.clone();
  }

  put(request: Request | string, response: Response): Promise<void> {
    const put = this.store(request, response);
    this.puts = Promise.allSettled([this.puts, put]);
    return put;
  }

  async delete(request: Request | string): Promise<boolean> {
    return this.responses.delete(urlOf(request));
  }

  async keys(): Promise<readonly Request[]> {
    return [...this.responses.keys()].map((url) => new Request(url));
  }

  private async store(request: Request | string, response: Response): Promise<void> {
    const body = response.body === null ? null : await response.arrayBuffer();
    this.responses.delete(urlOf(request));
    this.responses.set(urlOf(request), new Response(body, response));
  }
}

function urlOf(request: Request | string): string {
  return typeof request === 'string' ? request : request.url;
}
