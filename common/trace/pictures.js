/*
 * pictures.js - what is drawn: time, memory, shared memory. Each function fills the element it is given;
 * none keeps anything but what it has drawn.
 */
'use strict';

const laneColour = lane => `hsl(${Math.round(lane * 360 / LANES)} 72% ${lane % 2 ? 62 : 72}%)`;

/* An element of SVG with attributes, children and, as attribute `text`, its text. */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes))
    if (key === 'text') element.textContent = value;
    else element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const hint = text => svg('title', {text});

/* An element of HTML of a class with text and children. */
function html(name, className = '', ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/* "lanes 0 to 31", "lane 4", "lanes 0, 2, 5 and 9 more" */
function laneList(lanes) {
  if (lanes.length === 1) return `lane ${lanes[0]}`;
  if (lanes.length === LANES) return 'all 32 lanes';
  if (lanes[lanes.length - 1] - lanes[0] === lanes.length - 1) return `lanes ${lanes[0]} to ${lanes[lanes.length - 1]}`;
  if (lanes.length <= 6) return 'lanes ' + lanes.join(', ');
  return `lanes ${lanes.slice(0, 4).join(', ')} and ${lanes.length - 4} more`;
}

/* ---- time ------------------------------------------------------------------------------------ */

const TURN = 10;  /* units of a turn in the drawing */

/* Which turns the drawing holds, so that the step lies in its middle third. */
function windowOf(kernel, step, width) {
  const turns = Math.max(24, Math.min(140, Math.floor(width / TURN) - 4));
  const first = Math.max(0, Math.min(step.turn - Math.floor(turns / 2), kernel.turns - turns));
  return {first, turns};
}

/* The steps around the current one: a row a warp, the chosen one's high, with the cost of each step as its
 * height. `go` is called with the step that is clicked. */
function drawTimeline(into, kernel, step, flags, go) {
  const {first, turns} = windowOf(kernel, step, into.clientWidth || 600);
  const thin = kernel.warps > 8 ? 5 : 9, high = 44, left = 26;
  const most = kernel.mostCost || (kernel.mostCost = Math.max(1, ...kernel.steps.map(s => s.cost)));
  const picture = svg('svg', {role: 'img', class: 'detail', 'aria-label': `Time: step ${step.ordinal + 1} of warp ${step.warp}`});
  let top = 8;
  for (let w = 0; w < kernel.warps; w++) {
    const chosen = w === step.warp, height = chosen ? high : thin;
    if (!kernel.byWarp[w].length && !chosen) continue;
    picture.append(svg('rect', {class: 'row', x: left, y: top, width: turns * TURN, height}));
    if (chosen || kernel.warps <= 8) picture.append(svg('text', {class: 'soft', x: 0, y: top + height - (chosen ? 2 : 0), text: `w${w}`}));
    for (const s of kernel.byWarp[w]) {
      if (s.release < first || s.turn >= first + turns) continue;
      const x = left + (s.turn - first) * TURN;
      if (s.release > s.turn) {
        const end = left + (Math.min(s.release, first + turns - 1) - first) * TURN;
        picture.append(svg('line', {class: 'wait', x1: Math.max(x, left - TURN) + TURN, x2: end + TURN, y1: top + height / 2, y2: top + height / 2}));
      }
      if (s.turn < first) continue;
      const bar = !chosen ? height : isAccess(s.kind) ? 6 + (high - 6) * s.cost / most : s.kind === BARRIER ? high : 6;
      const box = svg('rect', {class: colourOf(s.kind), x: x + 1, y: top + height - bar, width: TURN - 2, height: bar, rx: 1},
                      hint(`warp ${w}, step ${s.ordinal + 1}: ${KINDS[s.kind]}, line ${kernel.places[s.line].number}`));
      box.addEventListener('click', () => go(s));
      picture.append(box);
      if (flags.has(s.index)) picture.append(svg('path', {class: 'flag', d: `M${x + TURN / 2} ${top}l-4 -7h8z`}));
      if (s === step) picture.append(svg('rect', {class: 'cursor', x: x - .5, y: top - 1, width: TURN + 1, height: height + 2, rx: 2}));
    }
    top += height + 3;
  }
  picture.setAttribute('viewBox', `0 0 ${left + turns * TURN} ${top}`);
  into.replaceChildren(picture);
  if (kernel.turns > turns) into.append(drawOverview(kernel, step, first, turns, flags, go));
}

/* All turns of the chosen warp in a strip: the dearest step of each part. */
function drawOverview(kernel, step, first, turns, flags, go) {
  const columns = 300, height = 16, width = 900;
  const steps = kernel.byWarp[step.warp], unit = width / kernel.turns;
  const picture = svg('svg', {class: 'overview', viewBox: `0 0 ${width} ${height + 4}`, role: 'img', preserveAspectRatio: 'none',
                              'aria-label': `All ${steps.length} steps of warp ${step.warp}`});
  picture.append(svg('rect', {class: 'row', x: 0, y: 4, width, height}));
  const dearest = new Map();
  for (const s of steps) {
    const column = Math.floor(s.turn * columns / Math.max(columns, kernel.turns));
    const old = dearest.get(column);
    if (!old || s.cost > old.cost) dearest.set(column, s);
  }
  for (const s of dearest.values()) {
    const bar = 3 + (height - 3) * s.cost / kernel.mostCost;
    picture.append(svg('rect', {class: colourOf(s.kind), x: s.turn * unit, y: 4 + height - bar, width: Math.max(width / columns - .5, Math.min(unit * .8, 6)), height: bar}));
  }
  for (const index of flags)
    if (kernel.steps[index].warp === step.warp)
      picture.append(svg('rect', {class: 'flag', x: kernel.steps[index].turn * unit - 1, y: 0, width: 4, height: height + 4}));
  picture.append(svg('rect', {class: 'window', x: first * unit, y: 0, width: Math.min(turns * unit, width), height: height + 4}));
  picture.append(svg('rect', {class: 'cursor', x: step.turn * unit, y: 1, width: Math.max(unit, 2), height: height + 2}));
  picture.addEventListener('click', event => {
    const box = picture.getBoundingClientRect();
    const turn = (event.clientX - box.left) / box.width * kernel.turns;
    go(steps.reduce((best, s) => Math.abs(s.turn - turn) < Math.abs(best.turn - turn) ? s : best));
  });
  return picture;
}

/* Where a phone shows it, labels stand above, and letters are larger. */
const isNarrow = into => into.parentElement.clientWidth < 480;

/* ---- global memory --------------------------------------------------------------------------- */

/* A row a line of 128 bytes, four sectors each; words that a lane asks for are coloured. `rings` are lanes to
 * mark. */
function drawGlobal(into, kernel, step, rings) {
  const lines = linesTouched(step), word = 15, gap = 5, narrow = isNarrow(into);
  const left = narrow ? 0 : 118, row = narrow ? 31 : 17, head = narrow ? 0 : 14, above = narrow ? 14 : 0, high = 13;
  const place = w => left + w * word + Math.floor(w / 8) * gap + 1;
  const width = place(31) + word + 2;
  const picture = svg('svg', {class: narrow ? 'narrow' : '', viewBox: `0 0 ${width} ${lines.length * row + head}`, role: 'img',
                              'aria-label': `${lines.length} lines of memory, ${sectorsTouched(step)} sectors`});
  for (let s = 0; s < 4 && !narrow; s++)
    picture.append(svg('text', {class: 'soft', x: place(s * 8), y: 9, text: `+${s * SECTOR}`}));
  lines.forEach((line, i) => {
    const y = head + i * row + above + 1, start = line.line * LINE;
    const firstWord = Math.min(...line.words.keys());
    const name = nameOf(kernel, step.kind, step.size, Math.max(start + firstWord * WORD, step.at[line.words.get(firstWord)[0]]));
    picture.append(svg('text', {class: 'soft', x: 0, y: narrow ? y - 3 : y + 11, text: name}, hint(`the first word here that a lane asks for; byte ${start} of device memory`)));
    for (let w = 0; w < 32; w++) {
      const lanes = line.words.get(w);
      const box = svg('rect', {class: lanes ? 'asked' : 'free', x: place(w), y, width: word - 1, height: high, rx: 1});
      if (lanes) {
        const at = start + w * WORD;
        box.style.fill = laneColour(lanes[0]);
        box.append(hint(`${nameOf(kernel, step.kind, step.size, Math.max(at, step.at[lanes[0]]))}: ${laneList(lanes)}`));
      }
      picture.append(box);
      if (lanes) picture.append(svg('text', {class: 'on', x: place(w) + word / 2 - .5, y: y + 10, text: lanes.length > 1 ? '\u00d7' + lanes.length : lanes[0]}));
      if (lanes && lanes.some(l => rings.includes(l)))
        picture.append(svg('rect', {class: 'ring', x: place(w), y, width: word - 1, height: high}));
    }
    for (const s of line.sectors)
      picture.append(svg('rect', {class: 'moved', x: place(s * 8) - 1, y: y - 1, width: 8 * word + 1, height: high + 2, rx: 2}));
  });
  const caption = html('figcaption', '', `${lines.length === 1 ? 'One line' : lines.length + ' lines'} of 128 bytes, sectors of 32: framed ones are moved, ` +
                       'a coloured word is asked for by the lane of that colour (\u00d732: by 32 lanes)');
  into.replaceChildren(caption, html('div', 'scroll', picture));
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* The words that each bank delivers, one above the other: a row a wavefront. */
function drawBanks(into, kernel, step, rings) {
  const passes = wavefronts(step), word = 18, row = 16, narrow = isNarrow(into), left = narrow ? 2 : 64;
  const picture = svg('svg', {class: narrow ? 'narrow' : '', viewBox: `0 0 ${left + BANKS * word + 2} ${passes.length * row + 16}`, role: 'img',
                              'aria-label': `${passes.length} wavefronts through the 32 banks`});
  passes.forEach((pass, i) => {
    const y = (passes.length - 1 - i) * row + 1;
    if (!narrow) picture.append(svg('text', {class: 'soft', x: 0, y: y + 10, text: `wave ${i + 1}`}));
    for (let b = 0; b < BANKS; b++) {
      const of = pass.get(b), x = left + b * word;
      const box = svg('rect', {class: of ? 'asked' : 'free', x, y, width: word - 2, height: row - 3, rx: 1});
      picture.append(box);
      if (!of) continue;
      box.style.fill = laneColour(of.lanes[0]);
      box.append(hint(`bank ${b}: ${nameOf(kernel, step.kind, step.size, of.word * WORD)} for ${laneList(of.lanes)}`));
      picture.append(svg('text', {class: 'on', x: x + word / 2 - 1, y: y + 10, text: of.lanes.length > 1 ? '\u00d7' + of.lanes.length : of.lanes[0]}));
      if (of.lanes.some(l => rings.includes(l)))
        picture.append(svg('rect', {class: 'ring', x, y, width: word - 2, height: row - 3}));
    }
  });
  const base = passes.length * row, limit = base - step.ideal * row - 1;
  for (let b = 0; b < BANKS; b += 8)
    picture.append(svg('text', {class: 'soft', x: left + b * word, y: base + 12, text: `bank ${b}`}));
  if (step.cost > step.ideal)
    picture.append(svg('line', {class: 'limit', x1: left - 4, x2: left + BANKS * word, y1: limit, y2: limit}, hint('above this line: bank conflicts')));
  into.replaceChildren(html('figcaption', '', 'Words that the 32 banks deliver: a row is a wavefront' +
                            (step.cost > step.ideal ? '; above the dashed line lie conflicts' : '')),
                       html('div', 'scroll', picture));
}

/* Rows of 32 words of the arrays in shared memory that the recording touches anywhere, so that a word stands in
 * the column of its bank. */
function sharedRows(kernel) {
  if (kernel.sharedRows) return kernel.sharedRows;
  const rows = new Set();
  for (const step of kernel.steps)
    if (isShared(step.kind))
      for (const lane of step.lanes)
        for (let at = step.at[lane]; at < step.at[lane] + laneBytes(step); at += WORD)
          rows.add(Math.floor(at / WORD / BANKS));
  return kernel.sharedRows = [...rows].sort((a, b) => a - b);
}

/* Shared memory as it fills: each word in the colour of the lane that wrote it last. */
function drawShared(into, kernel, step) {
  const rows = sharedRows(kernel);
  if (!rows.length) return into.replaceChildren();
  const writers = sharedWriters(kernel, step), word = 15, row = 13, narrow = isNarrow(into), left = narrow ? 2 : 118;
  const now = new Set();
  if (isShared(step.kind))
    for (const lane of step.lanes)
      for (let at = step.at[lane]; at < step.at[lane] + laneBytes(step); at += WORD)
        now.add(Math.floor(at / WORD));
  const picture = svg('svg', {role: 'img', viewBox: `0 0 ${left + BANKS * word + 2} ${rows.length * row + 2}`});
  let filled = 0, all = 0, before = '';
  rows.forEach((number, i) => {
    const y = i * row + 1;
    for (let b = 0; b < BANKS; b++) {
      const at = number * BANKS + b, array = kernel.arrays.find(a => a.shared && at * WORD >= a.start && at * WORD < a.start + a.bytes);
      if (!array) continue;
      const writer = writers.get(at);
      all++;
      filled += writer ? 1 : 0;
      if (array.name !== before && !narrow)
        picture.append(svg('text', {class: 'soft', x: 0, y: y + 10, text: array.name}));
      before = array.name;
      const box = svg('rect', {class: writer ? 'asked' : 'free', x: left + b * word, y, width: word - 2, height: row - 2, rx: 1},
                      hint(`${nameOf(kernel, SHARED_LOAD, WORD, at * WORD)}, bank ${b}: ${writer ? `written by lane ${writer.lane} of warp ${writer.warp}` : 'not written yet'}`));
      if (writer) box.style.fill = laneColour(writer.lane);
      picture.append(box);
      if (now.has(at)) picture.append(svg('rect', {class: 'seen', x: left + b * word - 1, y: y - 1, width: word, height: row}));
    }
  });
  picture.setAttribute('aria-label', `Shared memory: ${filled} of ${all} words written`);
  into.replaceChildren(html('figcaption', '', `Shared memory of the block, a column a bank: ${filled} of ${all} words written, each in the colour of its lane; framed: this step's`),
                       html('div', 'scroll', picture));
}
