/** Which UDP sockets of a process are those of a thread, as of `ServerOptions.worker` of the transport */
export interface SharedUdp {
  group: number;
  /** Number of the thread, from 0 */
  index: number;
}
