/** A start tag: names in lower case, values with their character references */
export interface StartTag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

// Longer tags carry data in URLs, which are not requested.
const MAX_TAG_LENGTH = 65_536;
const TAG = /^<([a-z][^\s/>]*)/i;
const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;
/** Elements whose content is not markup (HTML standard §13.2.5.2 to §13.2.5.4) */
const RAW_TEXT = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'iframe', 'xmp', 'noembed', 'noframes']);

/**
 * Finds the start tags of a document while it arrives, as a browser's preload scanner does: without a tree, and never
 * with certainty. An error only costs a resource its place in the order.
 */
export class HtmlScanner {
  private rest = '';
  /** Name of the element whose content is skipped */
  private raw: string | undefined;

  constructor(private readonly onTag: (tag: StartTag) => void) {}

  /** Scans the next part of the document. */
  push(text: string): void {
    this.rest += text;
    let position = 0;
    for (;;) {
      const next = this.raw === undefined ? this.next(position) : this.endOfRaw(position, this.raw);
      if (next === undefined) break;
      position = next;
    }
    this.rest = this.rest.slice(position);
    // The end of this tag or element does not come, so scan what follows as new markup.
    if (this.rest.length > MAX_TAG_LENGTH) this.rest = this.raw === undefined ? '' : this.rest.slice(-16);
  }

  /** Skips the next tag or comment; undefined when it is incomplete. */
  private next(from: number): number | undefined {
    const start = this.rest.indexOf('<', from);
    if (start === -1) return this.rest.length > from ? this.rest.length : undefined;
    if (this.rest.startsWith('<!--', start)) {
      const end = this.rest.indexOf('-->', start + 4);
      return end === -1 ? undefined : end + 3;
    }
    // This may still become a comment.
    if ('<!--'.startsWith(this.rest.slice(start))) return undefined;
    const end = this.endOfTag(start);
    if (end === undefined) return undefined;
    this.onMarkup(this.rest.slice(start, end));
    return end;
  }

  /** Returns the position behind the tag's `>`. A `>` inside quotes does not count. */
  private endOfTag(start: number): number | undefined {
    let quote = '';
    for (let position = start; position < this.rest.length; position += 1) {
      const character = this.rest[position]!;
      if (quote !== '') {
        if (character === quote) quote = '';
      } else if (character === '>') {
        return position + 1;
      } else if (
        (character === '"' || character === "'") &&
        /=\s*$/.test(this.rest.slice(Math.max(start, position - 8), position))
      ) {
        quote = character;
      }
    }
    return undefined;
  }

  private onMarkup(markup: string): void {
    const name = TAG.exec(markup)?.[1]?.toLowerCase();
    if (name === undefined) return;
    const attributes = new Map<string, string>();
    for (const [, key, double, single, bare] of markup.slice(name.length + 1).matchAll(ATTRIBUTE)) {
      const attribute = key!.toLowerCase();
      if (!attributes.has(attribute)) attributes.set(attribute, double ?? single ?? bare ?? '');
    }
    if (RAW_TEXT.has(name)) this.raw = name;
    this.onTag({ name, attributes });
  }

  private endOfRaw(from: number, name: string): number | undefined {
    const end = this.rest.slice(from).search(new RegExp(`</${name}[\\s/>]`, 'i'));
    if (end === -1) return undefined;
    this.raw = undefined;
    return from + end;
  }
}
