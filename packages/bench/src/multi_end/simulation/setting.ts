/** A link, the same in both directions */
export interface LinkSetting {
  mbps: number;
  /** One-way delay */
  delay_ms: number;
}

export interface BackendSetting {
  /** Link to the client */
  client: LinkSetting;
  /** Link to the primary, over which it proxies */
  primary: LinkSetting;
}

/** A client, a primary and backends */
export interface Topology {
  name: string;
  /** Link between client and primary */
  primary: LinkSetting;
  backends: BackendSetting[];
  /** Link that carries all traffic of the client; if absent, only the other links limit it */
  access?: { mbps: number; queue_bytes: number };
}

/** One request */
export interface TransferSetting {
  answer_bytes: number;
  upload_bytes: number;
  /** Index of the backend that answers it */
  backend: number;
}

/** Jitter of machines on switches. Without it, all seeds would give the same figure. */
export const JITTER_MS = 0.1;

/** Describes the setting in the format that multi_end_bench reads. */
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
