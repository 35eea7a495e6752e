type Attributes = Readonly<Record<string, string | number | undefined>>;

/** Escapes text for HTML or SVG, between tags or in an attribute. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Renders an element. Attributes are escaped here; contents are markup already. */
export function element(name: string, attributes: Attributes, ...contents: readonly string[]): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escapeText(String(value))}"`],
  );
  return `<${name}${written.join('')}>${contents.join('')}</${name}>`;
}

/** Rounds a coordinate to a tenth of a pixel. */
export const at = (value: number): string => String(Math.round(value * 10) / 10);
