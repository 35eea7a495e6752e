import type { TcpTunnelStatus, TunnelListenerStatus, TunnelStatus } from '@sheaf/gateway';
import { renderTable } from './table.js';

/** Requests that got no tunnel, by the status of their response */
function refusedRequests(answers: Readonly<Record<string, number>>): string {
  const refused = Object.entries(answers).filter(([status]) => status !== '200');
  return refused.map(([status, requests]) => `${requests} by ${status}`).join(', ');
}

export function renderTcpTunnels({ open, answers, bytesToTarget, bytesToClient, openingMs }: TcpTunnelStatus): string {
  const row = [
    open,
    answers['200'] ?? 0,
    refusedRequests(answers),
    `${bytesToTarget} bytes`,
    `${bytesToClient} bytes`,
    openingMs === undefined ? '' : `${openingMs.toFixed(1)} ms`,
  ];
  return renderTable(
    ['tunnels for TCP', 'opened', 'refused', 'to targets', 'to clients', 'opening'],
    [row.map(String)],
  );
}

export function renderTunnels(tunnels: TunnelStatus): string {
  const { open, waitingBytes, packetsToTarget, bytesToTarget, packetsToClient, bytesToClient } = tunnels;
  const { packetsRepeated, packetsMarked, drops, answers, responseMs } = tunnels;
  const row = [
    open,
    answers['200'] ?? 0,
    refusedRequests(answers),
    `${packetsToTarget} packets, ${bytesToTarget} bytes`,
    `${packetsToClient} packets, ${bytesToClient} bytes`,
    `${waitingBytes} bytes`,
    responseMs === undefined ? '' : `${responseMs.toFixed(1)} ms`,
    packetsRepeated,
    packetsMarked,
    Object.entries(drops)
      .filter(([, packets]) => packets > 0)
      .map(([reason, packets]) => `${packets} ${reason}`)
      .join(', '),
  ];
  return renderTable(
    [
      'tunnels',
      'opened',
      'refused',
      'to targets',
      'to clients',
      'waiting',
      'first response',
      'sent again',
      'marked',
      'dropped packets',
    ],
    [row.map(String)],
  );
}

export function renderListeners(listeners: readonly TunnelListenerStatus[]): string {
  const rows = listeners.map(({ kind, listen, to = 'any target', reason, open, refused }) => [
    reason === undefined ? listen : `${listen}: ${reason}`,
    kind,
    to,
    String(open),
    String(refused),
  ]);
  return renderTable(['programs at', 'by', 'to', 'open', 'refused'], rows);
}
