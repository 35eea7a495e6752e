/** The access link of the client, which everything crosses. Delays are one way. */
export interface AccessSetting {
  mbps: number;
  delay_ms: number;
  queue_bytes: number;
  jitter_ms: number;
  /** Share of the packets that are lost, in both directions */
  loss?: number | undefined;
  queue_packets?: number | undefined;
  queue?: 'drop-tail' | 'codel' | undefined;
}

export interface ReturnBackendSetting {
  /** One-way delay between gateway and backend */
  order_ms: number;
  /** One-way delay between the backend and the access link */
  way_ms: number;
}

export interface ReturnSetting {
  access: AccessSetting;
  /** One-way delay between the gateway and the access link */
  gateway_ms: number;
  backends: readonly ReturnBackendSetting[];
}

/** Describes the setting in the format that direct_return_bench reads; `further` are lines of one experiment. */
export function describeReturnSetting(
  { access, gateway_ms, backends }: ReturnSetting,
  further: readonly string[],
): string {
  const lines = [
    `access ${access.mbps} ${access.delay_ms} ${access.queue_bytes} ${access.jitter_ms}`,
    ...(access.loss === undefined ? [] : [`loss ${access.loss}`]),
    ...(access.queue_packets === undefined ? [] : [`queue_packets ${access.queue_packets}`]),
    ...(access.queue === undefined ? [] : [`queue ${access.queue}`]),
    `gateway ${gateway_ms}`,
    ...backends.map(({ order_ms, way_ms }) => `backend ${order_ms} ${way_ms}`),
    ...further,
  ];
  return `${lines.join('\n')}\n`;
}
