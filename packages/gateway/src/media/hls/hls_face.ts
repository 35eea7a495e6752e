import type { Exchange } from '../../http/exchange.js';
import { respondBytes, respondStatus } from '../../http/respond.js';
import type { Broadcast } from '../model/broadcast.js';
import type { Clock } from '../model/clock.js';
import type { Track } from '../model/track.js';
import { catalogOf, type Rendition } from './catalog.js';
import { initSegment } from './init_segment.js';
import { withinPatience } from './patience.js';
import { mediaPlaylist, multivariantPlaylist, tokenParameter } from './playlists.js';
import { partBytes, segmentsOf, type Segment } from './timeline.js';

/** Segments beyond the newest that a player may ask for (RFC 8216bis §6.2.5.2) */
const maxAhead = 2;

/** Serves a broadcast as Low-Latency HLS (RFC 8216bis): groups are segments, frames are parts. */
export class HlsFace {
  constructor(private readonly clock: Clock) {}

  /** Answers with the playlist of all renditions. */
  async index(exchange: Exchange, broadcast: Broadcast): Promise<void> {
    const catalog = await withinPatience(exchange, this.clock, (signal) => catalogOf(broadcast, signal));
    const playlist = catalog && multivariantPlaylist(catalog, broadcast.token);
    if (playlist === undefined) {
      respondStatus(exchange, 404);
      return;
    }
    respondPlaylist(exchange, playlist);
  }

  /** Answers with a file of one rendition. Returns false when its name is none of a rendition's. */
  async file(exchange: Exchange, broadcast: Broadcast, trackName: string, name: string): Promise<boolean> {
    const [, group, part] = /^(\d{1,15})(?:\.(\d{1,6}))?\.m4s$/.exec(name) ?? [];
    if (group === undefined && name !== 'media.m3u8' && name !== 'init.mp4') return false;
    const catalog = await withinPatience(exchange, this.clock, (signal) => catalogOf(broadcast, signal));
    const rendition = catalog?.video.get(trackName) ?? catalog?.audio.get(trackName);
    const init = rendition && initSegment(rendition);
    if (rendition === undefined || init === undefined) respondStatus(exchange, 404);
    else if (name === 'init.mp4') respondMedia(exchange, init, rendition, 'no-cache');
    else {
      const track = broadcast.track(trackName);
      const { token } = broadcast;
      if (group === undefined) await this.#playlist(exchange, track, rendition, token);
      else if (isOfAnother(exchange, token)) respondStatus(exchange, 404);
      else await this.#media(exchange, track, rendition, Number(group), part === undefined ? undefined : Number(part));
    }
    return true;
  }

  async #playlist(exchange: Exchange, track: Track, rendition: Rendition, token: string): Promise<void> {
    const query = new URLSearchParams(exchange.search);
    const [wanted, part] = [numberOf(query.get('_HLS_msn')), numberOf(query.get('_HLS_part'))];
    const newest = track.newest?.sequence;
    const isAhead = wanted !== undefined && newest !== undefined && wanted > newest + maxAhead;
    const isStale = isOfAnother(exchange, token);
    // The numbers of a publisher that came back may begin anew: players of the broadcast before get what there is.
    if (isAhead && !isStale) {
      respondStatus(exchange, 400);
      return;
    }
    const isThere = (segments: readonly Segment[]): boolean => {
      if (wanted === undefined || isAhead) return segments.some(({ parts }) => parts.length > 0);
      return segments.some((segment) => hasCome(segment, wanted, part));
    };
    const segments = await this.#await(exchange, track, rendition, isThere);
    if (segments === undefined) {
      respondStatus(exchange, 503);
      return;
    }
    const playlist = mediaPlaylist(segments, { video: !('sampleRate' in rendition), token, isStale });
    respondPlaylist(exchange, playlist);
  }

  /** Answers with a segment, or one part of it. The part that comes next is waited for. */
  async #media(
    exchange: Exchange,
    track: Track,
    rendition: Rendition,
    group: number,
    part: number | undefined,
  ): Promise<void> {
    const newest = track.newest?.sequence ?? group;
    if (group > newest + 1) {
      respondStatus(exchange, 404);
      return;
    }
    const isThere = (segments: readonly Segment[]): boolean =>
      segments.some((segment) => hasCome(segment, group, part)) || (segments[0]?.sequence ?? group) > group;
    const segments = await this.#await(exchange, track, rendition, isThere);
    const segment = segments?.find(({ sequence }) => sequence === group);
    const parts = part === undefined ? segment?.parts : segment?.parts.slice(part, part + 1);
    if (segment?.group === undefined || parts === undefined || parts.length === 0) {
      respondStatus(exchange, 404);
      return;
    }
    const bytes = Buffer.concat(parts.map((each) => partBytes(segment, each, rendition)));
    respondMedia(exchange, bytes, rendition, tokenOf(exchange) === null ? 'no-cache' : 'max-age=60');
  }

  /** Waits until `isThere` is true of the segments. Undefined: it took too long, or the client has left. */
  async #await(
    exchange: Exchange,
    track: Track,
    rendition: Rendition,
    isThere: (segments: readonly Segment[]) => boolean,
  ): Promise<readonly Segment[] | undefined> {
    const wait = async (signal: AbortSignal): Promise<readonly Segment[] | undefined> => {
      while (!signal.aborted) {
        const segments = segmentsOf(track, rendition);
        if (isThere(segments)) return segments;
        if (!track.open) return undefined;
        await track.changed(signal);
      }
      return undefined;
    };
    return track.whileRead(() => withinPatience(exchange, this.clock, wait));
  }
}

/** Returns whether a segment, or a part of it, can be delivered. */
function hasCome({ sequence, complete, parts }: Segment, wanted: number, part: number | undefined): boolean {
  if (sequence > wanted) return true;
  return sequence === wanted && (complete || (part !== undefined && parts.length > part));
}

function tokenOf({ search }: Exchange): string | null {
  return new URLSearchParams(search).get(tokenParameter);
}

/** Returns whether a URL is for an earlier broadcast of this name. One without a token is for the present broadcast. */
function isOfAnother(exchange: Exchange, present: string): boolean {
  return (tokenOf(exchange) ?? present) !== present;
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function respondPlaylist(exchange: Exchange, playlist: string): void {
  const headers = { 'content-type': 'application/vnd.apple.mpegurl', 'cache-control': 'no-cache' };
  respondBytes(exchange, 200, Buffer.from(playlist), headers);
}

function respondMedia(exchange: Exchange, bytes: Buffer, rendition: Rendition, cacheControl: string): void {
  const type = 'sampleRate' in rendition ? 'audio/mp4' : 'video/mp4';
  respondBytes(exchange, 200, bytes, { 'content-type': type, 'cache-control': cacheControl });
}
