/** The other side of a session */
export type MoqPeer =
  | {
      kind: 'client';
      mayPublish: boolean;
      /** The network of the client, whose clients share memory for what they publish */
      network: string;
    }
  /** Another worker of this node, which judges its own clients, and brings what they publish */
  | { kind: 'worker' };
