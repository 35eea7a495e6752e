import type { AudioRendition, Catalog, VideoRendition } from './catalog.js';
import { initSegment } from './init_segment.js';
import { PART_TARGET, type Segment } from './timeline.js';

/** Parameter of URLs by which those of different broadcasts of a name differ */
export const tokenParameter = 'broadcast';

/** Segments at the end of a playlist whose parts are listed, too (RFC 8216bis §4.4.4.9) */
const segmentsWithParts = 3;

/** Bits in a second that a rendition is said to have when its publisher does not tell */
const unknownBandwidth = 2_000_000;

/** Returns the playlist of all renditions that players of files can read. Undefined: there is none. */
export function multivariantPlaylist(catalog: Catalog, token: string): string | undefined {
  const audio = [...catalog.audio].filter(([, rendition]) => initSegment(rendition) !== undefined);
  const video = [...catalog.video].filter(([, rendition]) => initSegment(rendition) !== undefined);
  if (audio.length + video.length === 0) return undefined;
  const lines = ['#EXTM3U', '#EXT-X-VERSION:9', '#EXT-X-INDEPENDENT-SEGMENTS'];
  if (video.length === 0)
    lines.push(...audio.flatMap(([name, rendition]) => variant(uri(name, token), rendition, [rendition.codec])));
  for (const [index, [name]] of video.length > 0 ? audio.entries() : []) {
    const isDefault = index === 0 ? 'YES' : 'NO';
    lines.push(
      `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="${index + 1}",DEFAULT=${isDefault},AUTOSELECT=YES,URI="${uri(name, token)}"`,
    );
  }
  const sound = audio[0]?.[1].codec;
  for (const [name, rendition] of video)
    lines.push(
      ...variant(
        uri(name, token),
        rendition,
        sound === undefined ? [rendition.codec] : [rendition.codec, sound],
        sound,
      ),
    );
  return `${lines.join('\n')}\n`;
}

function variant(
  location: string,
  rendition: VideoRendition | AudioRendition,
  codecs: readonly string[],
  sound?: string,
): string[] {
  const { bitrate = unknownBandwidth } = rendition;
  const size =
    'codedWidth' in rendition && rendition.codedHeight !== undefined
      ? [`RESOLUTION=${rendition.codedWidth}x${rendition.codedHeight}`]
      : [];
  const attributes = [
    `BANDWIDTH=${Math.round(bitrate)}`,
    `CODECS="${codecs.join(',')}"`,
    ...size,
    ...(sound === undefined ? [] : ['AUDIO="audio"']),
  ];
  return [`#EXT-X-STREAM-INF:${attributes.join(',')}`, location];
}

function uri(track: string, token: string): string {
  return versioned(`${encodeURIComponent(track)}/media.m3u8`, token);
}

/** Returns a URL that differs from those of the same file of another broadcast with this name, for caches and players. */
function versioned(file: string, token: string): string {
  return `${file}?${tokenParameter}=${token}`;
}

export interface PlaylistOptions {
  video: boolean;
  /** That of the broadcast */
  token: string;
  /** Whether the player comes from an earlier broadcast of this name */
  isStale: boolean;
}

/** Returns the playlist of one rendition, with parts, and a hint to the part that comes next. */
export function mediaPlaylist(segments: readonly Segment[], { video, token, isStale }: PlaylistOptions): string {
  const longest = Math.max(...segments.map(({ duration }) => duration), 1_000_000);
  const target = Math.round(longest / 1_000_000);
  const partTarget = Math.max(PART_TARGET, ...segments.flatMap(({ parts }) => parts.map(({ duration }) => duration)));
  const lines = [
    '#EXTM3U',
    '#EXT-X-VERSION:9',
    `#EXT-X-TARGETDURATION:${target}`,
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${seconds(partTarget * 3)},HOLD-BACK=${target * 3}`,
    `#EXT-X-PART-INF:PART-TARGET=${seconds(partTarget)}`,
    `#EXT-X-MEDIA-SEQUENCE:${segments[0]?.sequence ?? 0}`,
    ...(isStale ? ['#EXT-X-DISCONTINUITY'] : []),
    `#EXT-X-MAP:URI="${versioned('init.mp4', token)}"`,
  ];
  for (const [index, segment] of segments.entries()) {
    if (index >= segments.length - segmentsWithParts) lines.push(...partLines(segment, video, token));
    const file = versioned(`${segment.sequence}.m4s`, token);
    if (segment.group === undefined) lines.push('#EXT-X-GAP', `#EXTINF:${target},`, file);
    else if (segment.complete) lines.push(`#EXTINF:${seconds(segment.duration)},`, file);
  }
  lines.push(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${versioned(nextPart(segments), token)}"`);
  return `${lines.join('\n')}\n`;
}

function partLines({ sequence, parts }: Segment, video: boolean, token: string): string[] {
  return parts.map(({ duration }, index) => {
    const independent = !video || index === 0 ? ',INDEPENDENT=YES' : '';
    const file = versioned(`${sequence}.${index}.m4s`, token);
    return `#EXT-X-PART:DURATION=${seconds(duration)},URI="${file}"${independent}`;
  });
}

function nextPart(segments: readonly Segment[]): string {
  const last = segments.at(-1);
  if (last === undefined) return '0.0.m4s';
  return last.complete ? `${last.sequence + 1}.0.m4s` : `${last.sequence}.${last.parts.length}.m4s`;
}

function seconds(microseconds: number): string {
  return (microseconds / 1_000_000).toFixed(5);
}
