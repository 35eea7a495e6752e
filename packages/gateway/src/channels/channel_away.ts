/** A channel that nobody serves at the moment, and that soon is served again */
export class ChannelAway extends Error {
  constructor() {
    super('the worker with the channels starts again');
  }
}
