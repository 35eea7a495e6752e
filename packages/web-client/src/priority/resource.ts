/** The classes by which browsers sort resources */
export type ResourceClass = 'html' | 'css' | 'javascript' | 'image' | 'font' | 'xhr' | 'other';

/** Place where the page requests a resource, as far as its markup tells */
export type Placement =
  /** Rendering or parsing waits for it: style sheets, classic scripts of the head. */
  | 'blocking'
  /** A classic script behind the first image of the body */
  | 'late'
  /** `async`, `defer` and module scripts; style sheets of another medium */
  | 'deferred'
  | 'preload'
  | 'prefetch'
  /** One of the first images, which are likely to be visible without scrolling */
  | 'early'
  | 'lazy'
  /** The document of a frame */
  | 'framed'
  /** Not in the markup: found in a style sheet, requested by a script, or further down */
  | 'elsewhere';

export interface Resource {
  readonly class: ResourceClass;
  readonly placement: Placement;
  /** The `fetchpriority` attribute of HTML */
  readonly fetchPriority: 'high' | 'low' | 'auto';
}

/** Returns the class of a request by the Fetch standard's `Request.destination`. */
export function classOfDestination(destination: string): ResourceClass {
  switch (destination) {
    case 'document':
    case 'iframe':
    case 'frame':
      return 'html';
    case 'style':
    case 'xslt':
      return 'css';
    case 'script':
    case 'worker':
    case 'sharedworker':
    case 'serviceworker':
    case 'audioworklet':
    case 'paintworklet':
      return 'javascript';
    case 'image':
      return 'image';
    case 'font':
      return 'font';
    // fetch() and XMLHttpRequest have no destination.
    case '':
    case 'json':
      return 'xhr';
    default:
      return 'other';
  }
}
