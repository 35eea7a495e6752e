import type { ResponsePart, ResponseReport } from '../../protocol/index.js';

/** Who sends responses: a backend by its number, or the gateway. */
export type Server = number | 'gateway';

export const serverOf = ({ backend }: ResponsePart): Server => backend ?? 'gateway';

/** What one server sent to this page. */
export interface Share {
  /** Of the bodies of responses. */
  bytes: number;
  /** Responses whose last byte it sent. */
  pieces: number;
}

/** The parts that hold bytes: servers that were asked in vain have sent none. */
export const sentParts = ({ parts }: ResponseReport): ResponsePart[] => parts.filter(({ bytes }) => bytes > 0);

/** Adds up which server sent how much of the responses that this page received. */
export class Tally {
  /** The latest report of each response that is on its way; undefined while there is none. */
  private readonly open = new Map<number, ResponseReport | undefined>();
  private readonly ended = new Map<Server, Share>();
  /** Responses that another server completed than the first that was asked. */
  continued = 0;

  /** This page received the head of the response with this id. */
  expect(id: number): void {
    this.open.set(id, undefined);
  }

  /** Takes what the edge says; returns the responses that have ended since the time before. */
  take(reports: readonly ResponseReport[]): ResponseReport[] {
    const own = reports.filter(({ id }) => this.open.has(id));
    for (const report of own) this.open.set(report.id, report);
    const ended = own.filter((report) => report.ended);
    for (const report of ended) this.finish(report);
    return ended;
  }

  /** Also of responses that are on their way. */
  shareOf(server: Server): Share {
    const share = { bytes: 0, pieces: 0, ...this.ended.get(server) };
    for (const report of this.open.values()) {
      for (const part of report?.parts ?? []) if (serverOf(part) === server) share.bytes += part.bytes;
    }
    return share;
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
