/** A link; the same both ways. */
export interface LinkSetting {
  mbps: number;
  /** One way. */
  delay_ms: number;
}

export interface EndSetting {
  /** To the client. */
  client: LinkSetting;
  /** To the primary, over which it proxies. */
  primary: LinkSetting;
}

/** A client, a primary and ends. */
export interface Topology {
  name: string;
  /** Between client and primary. */
  primary: LinkSetting;
  ends: EndSetting[];
  /** Everything of the client crosses it; without: no limit but those of the links. */
  access?: { mbps: number; queue_bytes: number };
}

/** One request. */
export interface TransferSetting {
  answer_bytes: number;
  upload_bytes: number;
  /** Index of the end that has it. */
  end: number;
}

/** As machines on switches have it; without any, all seeds would give one figure. */
export const JITTER_MS = 0.1;

/** The setting as multi_end_bench reads it. */
export function describeSetting({ primary, ends, access }: Topology, transfers: readonly TransferSetting[]): string {
  const lines = [
    ...(access ? [`access ${access.mbps} ${access.queue_bytes}`] : []),
    `primary ${primary.mbps} ${primary.delay_ms} ${JITTER_MS}`,
    ...ends.map((end) => `end ${end.client.mbps} ${end.client.delay_ms} ${JITTER_MS} ${end.primary.mbps} ${end.primary.delay_ms}`),
    ...transfers.map(({ answer_bytes, upload_bytes, end }) => `transfer ${answer_bytes} ${upload_bytes} ${end}`),
  ];
  return `${lines.join('\n')}\n`;
}
