/** Medians, ranges and tables. Figures that are text (costs side by side) are shown as they are. */

const number = (value, digits) => value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const spread = (values, digits) => {
  const middle = number(median(values), digits);
  if (values.length === 1) return middle;
  return `${middle} (${number(Math.min(...values), digits)}–${number(Math.max(...values), digits)})`;
};

const isGiven = (value) => value !== null && value !== undefined;

const cell = (rounds, key, { key: figure, digits = 0 }) => {
  const values = rounds.map((round) => round[key]?.[figure]).filter(isGiven);
  if (values.length === 0) return '–';
  return typeof values[0] === 'number' ? spread(values, digits) : String(values.at(-1));
};

function alignedTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => `  ${row.map((text, column) => text.padEnd(widths[column])).join('   ')}`.trimEnd());
}

/** @returns lines: one row per subject, medians with ranges over the rounds; subjects that were not measured say why. */
export function figureTable({ subjects, figures }, rounds, names, missing) {
  const measured = subjects.filter((key) => missing[key] === undefined);
  const rows = measured.map((key) => [names[key], ...figures.map((figure) => cell(rounds, key, figure))]);
  const lines = rows.length === 0 ? [] : alignedTable([['', ...figures.map(({ head }) => head)], ...rows]);
  for (const key of subjects) if (missing[key] !== undefined) lines.push(`  ${names[key]}: ${missing[key]}`);
  return lines;
}

/** Every target with its value in each round; the median decides. `isMet` is null where nothing was to be reached or nothing was measured. */
export function judge({ targets }, rounds) {
  return targets.map((target) => {
    const { figure, ours = 'offstage', peer, atLeast, atMost, aim } = target;
    const values = rounds
      .map((round) => {
        const value = round[ours]?.[figure];
        if (!isGiven(value)) return null;
        if (peer === undefined) return value;
        const other = round[peer]?.[figure];
        return isGiven(other) ? value / other : null;
      })
      .filter(isGiven);
    if (values.length === 0) return { ...target, values, isMet: null, isAimMet: null };
    const middle = median(values);
    const reaches = (bound) => (atLeast === undefined ? middle <= bound : middle >= bound);
    const bound = atLeast ?? atMost;
    return {
      ...target,
      values,
      median: middle,
      isMet: bound === undefined ? null : reaches(bound),
      isAimMet: aim === undefined ? null : reaches(aim),
    };
  });
}

export function targetTable(judged) {
  const rows = judged.map(({ text, ours, peer, values, atLeast, atMost, aim, isMet, isAimMet }) => {
    const sign = atLeast === undefined ? '≤' : '≥';
    const unit = peer === undefined ? '' : 'x';
    const digits = values.length > 0 && Math.max(...values) >= 100 ? 0 : 2;
    const bound = atLeast ?? atMost;
    const wanted = bound === undefined ? 'no target' : `${sign} ${bound}${unit}${aim === undefined ? '' : `, aim ${aim}${unit}`}`;
    const value = values.length === 0 ? 'not measured' : `${spread(values, digits)}${unit}`;
    const name = peer === undefined ? text : `${ours === undefined ? '' : `${ours}: `}against ${text}`;
    return [name, value, wanted, verdict(isMet, isAimMet)];
  });
  return alignedTable([['target', 'median (range)', 'to reach', ''], ...rows]);
}

function verdict(isMet, isAimMet) {
  if (isMet === null) return '';
  if (!isMet) return 'MISSED';
  if (isAimMet === null) return 'met';
  return isAimMet ? 'met, aim met' : 'met, aim missed';
}
