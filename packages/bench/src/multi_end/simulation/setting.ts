/** A link; the same both ways. */
export interface LinkSetting {
  mbps: number;
  /** One way. */
  delay_ms: number;
}

export interface BackendSetting {
  /** To the client. */
  client: LinkSetting;
  /** To the primary, over which it proxies. */
  primary: LinkSetting;
}

/** A client, a primary and backends. */
export interface Topology {
  name: string;
  /** Between client and primary. */
  primary: LinkSetting;
  backends: BackendSetting[];
  /** Everything of the client crosses it; without: no limit but those of the links. */
  access?: { mbps: number; queue_bytes: number };
}

/** One request. */
export interface TransferSetting {
  answer_bytes: number;
  upload_bytes: number;
  /** Index of the backend that has it. */
  backend: number;
}

/** As machines on switches have it; without any, all seeds would give one figure. */
export const JITTER_MS = 0.1;

/** The setting as multi_end_bench reads it. */
export function describeSetting(
  { primary, backends, access }: Topology,
  transfers: readonly TransferSetting[],
): string {
  const lines = [
    ...(access ? [`access ${access.mbps} ${access.queue_bytes}`] : []),
    `primary ${primary.mbps} ${primary.delay_ms} ${JITTER_MS}`,
    ...backends.map(
      (backend) =>
        `backend ${backend.client.mbps} ${backend.client.delay_ms} ${JITTER_MS} ${backend.primary.mbps} ${backend.primary.delay_ms}`,
    ),
    ...transfers.map(
      ({ answer_bytes, upload_bytes, backend }) => `transfer ${answer_bytes} ${upload_bytes} ${backend}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
