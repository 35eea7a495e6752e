import type { ResponsePart, ResponseReport } from '../../protocol/index.js';

/** A sender of responses: a backend by its number, or the gateway */
export type Server = number | 'gateway';

export const serverOf = ({ backend }: ResponsePart): Server => backend ?? 'gateway';

/** Amount that one server sent to this page */
export interface Share {
  /** Bytes of response bodies */
  bytes: number;
  /** Responses whose last byte the server sent */
  pieces: number;
}

/** Returns the parts with bytes, without servers that were asked in vain. */
export const sentParts = ({ parts }: ResponseReport): ResponsePart[] => parts.filter(({ bytes }) => bytes > 0);

/** Adds up how much each server sent of the responses that this page received. */
export class Tally {
  /** Latest report of each response in flight; undefined while there is none */
  private readonly open = new Map<number, ResponseReport | undefined>();
  private readonly ended = new Map<Server, Share>();
  /** Number of responses that another server completed than the one that was asked first */
  continued = 0;

  /** Notes that this page received the head of the response with this id. */
  expect(id: number): void {
    this.open.set(id, undefined);
  }

  /** Takes reports of the edge. Returns the responses that have ended since the last call. */
  take(reports: readonly ResponseReport[]): ResponseReport[] {
    const own = reports.filter(({ id }) => this.open.has(id));
    for (const report of own) this.open.set(report.id, report);
    const ended = own.filter((report) => report.ended);
    for (const report of ended) this.finish(report);
    return ended;
  }

  /** Returns the share of a server, including responses in flight. */
  shareOf(server: Server): Share {
    const share = { bytes: 0, pieces: 0, ...this.ended.get(server) };
    for (const report of this.open.values()) {
      for (const part of report?.parts ?? []) if (serverOf(part) === server) share.bytes += part.bytes;
    }
    return share;
  }

  /** Notes a complete response that no report is about. */
  complete(server: Server, bytes: number): void {
    this.add(server, { bytes, pieces: 1 });
  }

  private finish(report: ResponseReport): void {
    this.open.delete(report.id);
    const parts = sentParts(report);
    for (const part of parts) this.add(serverOf(part), { bytes: part.bytes, pieces: 0 });
    const last = parts.at(-1);
    if (last) this.add(serverOf(last), { bytes: 0, pieces: 1 });
    if (report.parts.length > 1) this.continued += 1;
  }

  private add(server: Server, { bytes, pieces }: Share): void {
    const share = this.ended.get(server) ?? { bytes: 0, pieces: 0 };
    this.ended.set(server, { bytes: share.bytes + bytes, pieces: share.pieces + pieces });
  }
}
