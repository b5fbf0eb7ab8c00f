// Writes every way models mark maths as the one that the parser reads, and leaves code and prices alone.

// Code comes first, so that nothing inside it is taken for maths.
const FENCE = '(?:^|\\n)[ \\t]*(?<fence>`{3,}|~{3,})[^\\n]*(?:\\n[\\s\\S]*?(?:\\n[ \\t]*\\k<fence>[^\\n]*|$)|$)';
const CODE = '(?<tick>`+)(?!`)[\\s\\S]*?[^`]\\k<tick>(?!`)';
const DISPLAY = '\\\\\\[(?<bracket>[\\s\\S]{1,4000}?)\\\\\\]|\\$\\$(?<dollars>[^$]{1,4000}?)\\$\\$';
const INLINE = '\\\\\\((?<paren>[\\s\\S]{1,1000}?)\\\\\\)';
// As Pandoc reads it: no space inside the dollars, and no digit after them, so that "$5 and $6" stays two prices.
const DOLLAR = '(?<![\\\\$\\w])\\$(?<single>(?![\\s$])[^$\\n`]{0,500}?[^\\s$\\\\`])\\$(?![\\d$\\w])';
const PATTERN = new RegExp([FENCE, CODE, DISPLAY, INLINE, DOLLAR].join('|'), 'g');

/** Return the text with `\(…\)`, `\[…\]` and `$…$` as `$$…$$`, on lines of their own where they are displayed. */
export function mathDelimiters(text: string): string {
  if (!text.includes('$') && !text.includes('\\(') && !text.includes('\\[')) return text;
  return text.replace(PATTERN, (whole: string, ...rest: unknown[]) => {
    const found = rest.at(-1) as Record<string, string | undefined>;
    const [place, all] = [rest.at(-3) as number, rest.at(-2) as string];
    const inline = found.paren ?? found.single;
    if (inline !== undefined) return `$$${inline.trim()}$$`;
    const display = found.bracket ?? found.dollars;
    if (display === undefined) return whole;
    return standsAlone(all, place, whole.length) ? displayed(display, indentAt(all, place)) : `$$${display.trim()}$$`;
  });
}

function displayed(formula: string, indent: string): string {
  const lines = formula.trim().split('\n');
  return ['$$', ...lines.map((line) => line.trim()), '$$'].join(`\n${indent}`);
}

/** Whether nothing else is on the lines of the formula. */
function standsAlone(text: string, place: number, length: number): boolean {
  const before = text.slice(text.lastIndexOf('\n', place - 1) + 1, place);
  const after = text.slice(place + length).split('\n', 1)[0] ?? '';
  return before.trim() === '' && after.trim() === '';
}

function indentAt(text: string, place: number): string {
  return text.slice(text.lastIndexOf('\n', place - 1) + 1, place);
}
