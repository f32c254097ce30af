/** The contrast of two colours as WCAG 2 counts it. */

function luminance(colour: string): number {
  const channels = (/rgba?\(([^)]+)\)/.exec(colour)?.[1] ?? '').split(/[\s,/]+/).map(Number);
  const [red = 0, green = 0, blue = 0] = channels.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param a computed: `rgb(…)` without transparency */
export function contrastOf(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}
