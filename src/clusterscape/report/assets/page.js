"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const at = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function make(kind, text, attributes = {}) {
    const element = document.createElement(kind);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // As toFixed, without a sign before zero.
  const fixed = (value, digits) => (value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1"));
  const brief = (text) => (typeof text === "string" && text.length > 48 ? `${text.slice(0, 46)}…` : text);

  // ---- packed arrays --------------------------------------------------------------------------

  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found;
  }

  async function unpacked(text) {
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  const wide = (array, size) => (size === 2 ? new Uint16Array(array.buffer) : array);

  // ---- state ----------------------------------------------------------------------------------

  const own = data.alternatives;
  const points = data.points;
  const state = { shown: 0, pin: null, cluster: null, point: null, search: "", sort: "confidence", down: false, page: 0, section: null };
  const n = points ? points.ids.length : 0;
  const none = own ? (own.bytes === 2 ? 65534 : 254) : 254; // this and above: in no cluster
  const answer = own ? wide(bytes(own.answer), own.bytes) : null;
  let changes = null; // all labels as differences from the answer
  let steps = null; // all distances

  function labelsOf(index) {
    if (index === 0 || !changes) return answer;
    const top = own.bytes === 2 ? 0xffff : 0xff;
    const found = new answer.constructor(n);
    const start = index * n;
    for (let i = 0; i < n; i++) found[i] = (changes[start + i] + answer[i]) & top;
    return found;
  }

  const distance = (i, j) => (steps ? (steps[i * own.partitions.length + j] / 255) * own.largest : 0);

  function readHash() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!location.hash.includes("=")) return;
    const number = (name, most) => {
      const value = Number.parseInt(given.get(name), 10);
      return value >= 0 && value < most ? value : null;
    };
    const most = own ? own.partitions.length : 0;
    state.shown = number("clustering", most) ?? 0;
    state.pin = number("pin", most);
    state.cluster = number("cluster", none);
    state.point = number("point", n);
    state.search = given.get("search") ?? "";
    state.sort = COLUMNS.some((c) => c.name === given.get("sort")) ? given.get("sort") : "confidence";
    state.down = given.get("down") === "1";
    state.section = given.get("section");
  }

  function writeHash() {
    const kept = new URLSearchParams();
    if (state.shown) kept.set("clustering", state.shown);
    for (const name of ["pin", "cluster", "point"]) if (state[name] !== null) kept.set(name, state[name]);
    if (state.search) kept.set("search", state.search);
    if (state.sort !== "confidence") kept.set("sort", state.sort);
    if (state.down) kept.set("down", "1");
    // A section alone is an address of its own, which every browser knows.
    if (state.section && kept.size) kept.set("section", state.section);
    const text = kept.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  // ---- drawing --------------------------------------------------------------------------------

  function sheet(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const ink = canvas.getContext("2d");
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    return { ink, width, height };
  }

  const SHAPES = [
    (p, x, y, r) => { p.moveTo(x + r, y); p.arc(x, y, r, 0, 7); },
    (p, x, y, r) => { p.moveTo(x, y - r); p.lineTo(x + r, y + r); p.lineTo(x - r, y + r); p.closePath(); },
    (p, x, y, r) => p.rect(x - r, y - r, 2 * r, 2 * r),
    (p, x, y, r) => { p.moveTo(x, y - r); p.lineTo(x + r, y); p.lineTo(x, y + r); p.lineTo(x - r, y); p.closePath(); },
    (p, x, y, r) => { p.moveTo(x, y + r); p.lineTo(x + r, y - r); p.lineTo(x - r, y - r); p.closePath(); },
    (p, x, y, r) => { p.rect(x - r, y - r / 3, 2 * r, r / 1.5); p.rect(x - r / 3, y - r, r / 1.5, 2 * r); },
  ];
  // Shapes differ from cluster to cluster, so that colour is never the only cue.
  const shapeOf = (label) => (label >= none ? SHAPES[0] : SHAPES[(label + Math.floor(label / data.palette.length)) % SHAPES.length]);
  const colourOf = (label) => (label >= none ? data.noise : data.palette[label % data.palette.length]);

  const parts = (text) => [1, 3, 5].map((i) => Number.parseInt(text.slice(i, i + 2), 16));

  // A function from 0 (near) to 1 (far) to colours; looking styles up for every dot would be slow.
  function scaleOfDistances() {
    const [from, to] = [parts(colour("--near")), parts(colour("--far"))];
    return (share) => `rgb(${from.map((v, i) => Math.round(v + (to[i] - v) * share)).join(",")})`;
  }

  // The map of clusterings.
  let mapSpots = [];

  function drawMap() {
    const { ink, width, height } = sheet(at("map"));
    const xs = own.map.map((p) => p[0]);
    const ys = own.map.map((p) => p[1]);
    const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1;
    const scale = Math.min(width, height) - 40;
    const middle = [(Math.max(...xs) + Math.min(...xs)) / 2, (Math.max(...ys) + Math.min(...ys)) / 2];
    mapSpots = own.map.map(([x, y]) => [
      width / 2 + ((x - middle[0]) / span) * scale,
      height / 2 - ((y - middle[1]) / span) * scale,
    ]);
    const order = mapSpots.map((_, i) => i).sort((a, b) => distance(state.shown, b) - distance(state.shown, a));
    const mixed = scaleOfDistances();
    ink.strokeStyle = colour("--soft");
    ink.lineWidth = 0.75;
    for (const i of order) {
      const [x, y] = mapSpots[i];
      ink.beginPath();
      (i === 0 ? SHAPES[3] : SHAPES[0])(ink, x, y, i === 0 ? 8 : 5);
      ink.fillStyle = mixed(steps ? distance(state.shown, i) / own.largest : 0.6);
      ink.fill();
      ink.stroke();
    }
    ring(ink, mapSpots[state.shown], 11, SHAPES[0]);
    if (state.pin !== null) ring(ink, mapSpots[state.pin], 11, SHAPES[2]);
    drawRamp();
  }

  function ring(ink, spot, size, shape) {
    ink.beginPath();
    shape(ink, ...spot, size);
    ink.lineWidth = 2;
    ink.strokeStyle = colour("--ink");
    ink.stroke();
  }

  // Distances to the clustering shown, against how the others were made.
  const algorithms = own ? [...new Set(own.partitions.slice(1).map((p) => p.algorithm))] : [];
  let settingSpots = [];

  function drawSettings() {
    const { ink, width, height } = sheet(at("settings"));
    const most = Math.max(...own.partitions.map((p) => p.n_clusters), 2);
    const [left, right, top, base] = [44, width - 12, 14, height - 34];
    const across = (k) => left + 10 + ((k - 1) / (most - 1)) * (right - left - 20);
    const floor = base - 14; // so that the ring at distance 0 covers no number of the axis
    const up = (d) => floor - (d / own.largest) * (floor - top);
    // Clusterings of the same number stand side by side, one place for each algorithm.
    const step = Math.min(7, (right - left - 20) / (most - 1) / (algorithms.length + 1));
    const aside = (p) => (algorithms.indexOf(p.algorithm) - (algorithms.length - 1) / 2) * step;
    settingSpots = own.partitions.map((p, i) => [across(p.n_clusters) + (i === 0 ? 0 : aside(p)), up(distance(state.shown, i))]);
    drawScales(ink, { most, left, right, top, base, across, up });
    const mixed = scaleOfDistances();
    ink.strokeStyle = colour("--soft");
    ink.lineWidth = 0.75;
    settingSpots.forEach(([x, y], i) => {
      ink.beginPath();
      if (i === 0) SHAPES[3](ink, x, y, 8);
      else SHAPES[KINDS[algorithms.indexOf(own.partitions[i].algorithm) % KINDS.length]](ink, x, y, 4);
      ink.fillStyle = mixed(steps ? distance(state.shown, i) / own.largest : 0.6);
      ink.fill();
      ink.stroke();
    });
    ring(ink, settingSpots[state.shown], 11, SHAPES[0]);
    if (state.pin !== null) ring(ink, settingSpots[state.pin], 11, SHAPES[2]);
    tellAlgorithms();
  }

  const KINDS = [0, 1, 2, 4, 5]; // shapes of the algorithms; the diamond is the answer

  function drawScales(ink, { most, left, right, top, base, across, up }) {
    ink.font = "12px system-ui, sans-serif";
    ink.fillStyle = colour("--soft");
    ink.strokeStyle = colour("--line");
    ink.beginPath();
    ink.moveTo(left, top);
    ink.lineTo(left, base);
    ink.lineTo(right, base);
    ink.stroke();
    ink.textAlign = "right";
    for (const d of [0, own.largest / 2, own.largest]) ink.fillText(d.toFixed(2), left - 6, up(d) + 4);
    ink.textAlign = "center";
    const every = Math.ceil((most * 22) / (right - left));
    for (let k = 1; k <= most; k += every) ink.fillText(k, across(k), base + 15);
    ink.fillText("number of clusters  →", (left + right) / 2, base + 30);
  }

  function tellAlgorithms() {
    const mean = (name) => {
      const them = own.partitions.map((p, i) => [p, i]).filter(([p, i]) => i > 0 && i !== state.shown && p.algorithm === name);
      return them.length ? them.reduce((s, [, i]) => s + distance(state.shown, i), 0) / them.length : null;
    };
    const means = algorithms.map((name) => [name, mean(name)]).filter(([, far]) => far !== null);
    at("kinds").textContent = !steps || !means.length ? "" :
      `Vertical axis: the distance to the clustering shown (${own.partitions[state.shown].name}). Mean distance by algorithm: ${means.map(([name, far]) => `${name} ${far.toFixed(2)}`).join(", ")}.`;
    const box = at("algorithms");
    if (box.firstChild) return;
    algorithms.forEach((name, a) => {
      const sign = make("canvas", undefined, { "aria-hidden": "true", width: 14, height: 14 });
      const paint = sign.getContext("2d");
      paint.beginPath();
      SHAPES[KINDS[a % KINDS.length]](paint, 7, 7, 4);
      paint.strokeStyle = colour("--soft");
      paint.lineWidth = 1.5;
      paint.stroke();
      const entry = make("span");
      entry.append(sign, brief(name));
      box.append(entry);
    });
  }

  let rampDrawn = "";

  function drawRamp() {
    const box = at("ramp");
    if (!box.firstChild) {
      box.append(make("span", "same"), make("canvas", undefined, { "aria-hidden": "true" }), make("span", `${own.largest.toFixed(2)} away`));
    }
    const canvas = box.querySelector("canvas");
    const wanted = `${colour("--near")} ${canvas.clientWidth}`;
    if (wanted === rampDrawn) return;
    rampDrawn = wanted;
    const { ink, width, height } = sheet(canvas);
    const mixed = scaleOfDistances();
    for (let x = 0; x < width; x++) {
      ink.fillStyle = mixed(x / width);
      ink.fillRect(x, 0, 1, height);
    }
  }

  // The map of points.
  const raw = own && own.places ? new Uint16Array(bytes(own.places).buffer) : null;
  let spots = null;

  function placesIn(width, height) {
    let right = 1;
    let top = 1;
    for (let i = 0; i < n; i++) {
      right = Math.max(right, raw[2 * i]);
      top = Math.max(top, raw[2 * i + 1]);
    }
    const scale = Math.min((width - 40) / right, (height - 50) / top);
    const found = new Float32Array(2 * n);
    for (let i = 0; i < n; i++) {
      found[2 * i] = width / 2 + (raw[2 * i] - right / 2) * scale;
      found[2 * i + 1] = (height - 14) / 2 - (raw[2 * i + 1] - top / 2) * scale;
    }
    return found;
  }

  // The answer beside the verdict, which no choice changes.
  function drawGlance() {
    const { ink, width, height } = sheet(at("glance"));
    const places = placesIn(width, height);
    paintPoints(ink, answer, places, n > 2000 ? 1.6 : n > 400 ? 2.2 : 3, () => true);
    nameClusters(ink, answer, places);
  }

  function drawPoints(labels, changed) {
    const { ink, width, height } = sheet(at("data"));
    ink.fillStyle = colour("--soft");
    ink.font = "12px system-ui, sans-serif";
    ink.textAlign = "center";
    if (!raw) {
      ink.fillText("The report was written without the features of the points.", width / 2, height / 2);
      return;
    }
    spots = placesIn(width, height);
    ink.fillText(`${own.axes[0]}  →`, width / 2, height - 4);
    ink.save();
    ink.translate(11, height / 2);
    ink.rotate(-Math.PI / 2);
    ink.fillText(`${own.axes[1]}  →`, 0, 0);
    ink.restore();
    const size = n > 2000 ? 2.2 : n > 400 ? 3 : 4;
    const strong = (i) => (state.cluster === null || labels[i] === state.cluster) && (!changed || changed[i] === 1);
    paintPoints(ink, labels, spots, size, strong);
    nameClusters(ink, labels, spots);
    if (state.point !== null) {
      ink.beginPath();
      SHAPES[0](ink, spots[2 * state.point], spots[2 * state.point + 1], 9);
      ink.lineWidth = 2.5;
      ink.strokeStyle = colour("--ink");
      ink.stroke();
    }
  }

  function paintPoints(ink, labels, places, size, strong) {
    const counts = new Map();
    for (let i = 0; i < n; i++) counts.set(labels[i], (counts.get(labels[i]) ?? 0) + 1);
    // Clusters of few points are drawn last and large: among thousands nobody would find them.
    const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const sizes = new Map(order.map((label) => [label, counts.get(label) * 100 < n ? Math.max(size, 3.5) : size]));
    for (const faded of [true, false]) {
      const paths = new Map();
      for (let i = 0; i < n; i++) {
        if (strong(i) === faded) continue;
        const label = labels[i];
        if (!paths.has(label)) paths.set(label, new Path2D());
        shapeOf(label)(paths.get(label), places[2 * i], places[2 * i + 1], sizes.get(label));
      }
      ink.globalAlpha = faded ? 0.15 : 0.9;
      ink.lineWidth = Math.min(1.2, size / 3);
      ink.strokeStyle = colour("--edge"); // dark colours on a dark page
      for (const label of order) {
        if (!paths.has(label)) continue;
        const path = paths.get(label);
        ink.fillStyle = colourOf(label);
        ink.stroke(path); // below the colours, which thousands of rims would hide
        ink.fill(path);
      }
    }
    ink.globalAlpha = 1;
  }

  function nameClusters(ink, labels, places) {
    const members = new Map();
    for (let i = 0; i < n; i++) {
      if (labels[i] >= none) continue;
      if (!members.has(labels[i])) members.set(labels[i], []);
      members.get(labels[i]).push(i);
    }
    const median = (list, axis) => {
      const sorted = list.map((i) => places[2 * i + axis]).sort((a, b) => a - b);
      return sorted[sorted.length >> 1];
    };
    ink.font = "bold 14px system-ui, sans-serif";
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.lineWidth = 4;
    ink.strokeStyle = colour("--halo");
    ink.fillStyle = colour("--ink");
    for (const [label, list] of members) {
      if (list.length * 100 < n) continue;
      // Beside a few points, which the number would hide.
      const x = median(list, 0) + (list.length > 12 ? 0 : 13);
      const y = median(list, 1) - (list.length > 12 ? 0 : 11);
      ink.strokeText(label, x, y);
      ink.fillText(label, x, y);
    }
    ink.textBaseline = "alphabetic";
  }

  function drawLegend(labels) {
    const counts = new Map();
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    const box = at("legend");
    box.replaceChildren();
    const order = [...counts.keys()].sort((a, b) => a - b);
    for (const label of order.slice(0, 48)) {
      const chip = make("button", undefined, { type: "button", "aria-pressed": String(state.cluster === label) });
      const sign = make("canvas", undefined, { "aria-hidden": "true", width: 14, height: 14 });
      const called = state.shown === 0 && data.names[label] ? ` ${brief(data.names[label])}` : "";
      chip.append(sign, `${label >= none ? "none" : label}${called} (${counts.get(label).toLocaleString("en")})`);
      chip.addEventListener("click", () => update({ cluster: state.cluster === label ? null : label }));
      box.append(chip);
      const ink = sign.getContext("2d");
      ink.beginPath();
      shapeOf(label)(ink, 7, 7, 5);
      ink.fillStyle = colourOf(label);
      ink.fill();
      ink.strokeStyle = colour("--edge");
      ink.stroke();
    }
    if (order.length > 48) box.append(make("span", `and ${order.length - 48} more`));
  }

  // ---- two clusterings ------------------------------------------------------------------------

  function shared(a, b) {
    const table = new Map();
    for (let i = 0; i < n; i++) {
      if (a[i] >= none || b[i] >= none) continue;
      const key = a[i] * 65536 + b[i];
      table.set(key, (table.get(key) ?? 0) + 1);
    }
    return table;
  }

  function rand(table) {
    const rows = new Map();
    const columns = new Map();
    let total = 0;
    let pairs = 0;
    const two = (m) => (m * (m - 1)) / 2;
    for (const [key, count] of table) {
      const [a, b] = [Math.floor(key / 65536), key % 65536];
      rows.set(a, (rows.get(a) ?? 0) + count);
      columns.set(b, (columns.get(b) ?? 0) + count);
      total += count;
      pairs += two(count);
    }
    const sum = (map) => [...map.values()].reduce((s, m) => s + two(m), 0);
    const [p, q] = [sum(rows), sum(columns)];
    const chance = (p * q) / (two(total) || 1);
    const most = (p + q) / 2;
    return most === chance ? 1 : (pairs - chance) / (most - chance);
  }

  // Clusters that share most are matched first; points outside matched clusters have changed.
  function changedPoints(a, b, table) {
    const taken = [new Set(), new Set()];
    const matched = new Map();
    for (const [key] of [...table].sort((x, y) => y[1] - x[1])) {
      const [i, j] = [Math.floor(key / 65536), key % 65536];
      if (taken[0].has(i) || taken[1].has(j)) continue;
      taken[0].add(i);
      taken[1].add(j);
      matched.set(i, j);
    }
    const found = new Uint8Array(n);
    for (let i = 0; i < n; i++) found[i] = Number(a[i] >= none || b[i] >= none ? a[i] !== b[i] : matched.get(a[i]) !== b[i]);
    return found;
  }

  function showComparison(a, b) {
    const table = shared(a, b);
    const changed = changedPoints(a, b, table);
    const moved = [];
    for (let i = 0; i < n; i++) if (changed[i]) moved.push(i);
    const named = moved.slice(0, 12).map((i) => brief(points.ids[i])).join(", ");
    at("changed").textContent =
      `Adjusted Rand index ${fixed(rand(table), 3)}. ${moved.length.toLocaleString("en")} of ${n.toLocaleString("en")} points change their cluster` +
      (moved.length ? `; the map shows them: ${named}${moved.length > 12 ? ", …" : "."}` : ".");
    const rows = [...new Set([...table.keys()].map((key) => Math.floor(key / 65536)))].sort((x, y) => x - y);
    const columns = [...new Set([...table.keys()].map((key) => key % 65536))].sort((x, y) => x - y);
    fillContingency(table, rows, columns);
    drawFlows(table, rows, columns);
    return changed;
  }

  function fillContingency(table, rows, columns) {
    const grid = make("table");
    grid.append(make("caption", "Rows: pinned. Columns: shown."));
    const head = grid.createTHead().insertRow();
    head.append(make("th", "", { scope: "col" }));
    for (const c of columns.slice(0, 30)) head.append(make("th", c, { scope: "col" }));
    const body = grid.createTBody();
    for (const r of rows.slice(0, 30)) {
      const line = body.insertRow();
      line.append(make("th", r, { scope: "row" }));
      for (const c of columns.slice(0, 30)) line.insertCell().textContent = table.get(r * 65536 + c) ?? "";
    }
    at("contingency").replaceChildren(grid);
    if (rows.length > 30 || columns.length > 30) at("contingency").append(make("p", "The first 30 clusters are shown."));
  }

  function drawFlows(table, rows, columns) {
    const { ink, width, height } = sheet(at("flows"));
    const sums = (keys, part) => keys.map((k) => [...table].reduce((s, [key, m]) => s + (part(key) === k ? m : 0), 0));
    const left = sums(rows, (key) => Math.floor(key / 65536));
    const right = sums(columns, (key) => key % 65536);
    const total = left.reduce((s, m) => s + m, 0) || 1;
    const gap = (list) => Math.min(8, (0.3 * height) / list.length);
    const space = height - 24;
    const starts = (list) => {
      const scale = (space - gap(list) * (list.length - 1)) / total;
      let y = 20;
      return { scale, at: list.map((m) => { const here = y; y += m * scale + gap(list); return here; }) };
    };
    const [from, to] = [starts(left), starts(right)];
    const [used, filled] = [[...from.at], [...to.at]];
    const [x0, x1] = [34, width - 34];
    ink.font = "12px system-ui, sans-serif";
    ink.fillStyle = colour("--soft");
    ink.textAlign = "left";
    ink.fillText("pinned", 4, 12);
    ink.textAlign = "right";
    ink.fillText("shown", width - 4, 12);
    rows.forEach((r, i) => {
      columns.forEach((c, j) => {
        const count = table.get(r * 65536 + c);
        if (!count) return;
        const [a, b] = [count * from.scale, count * to.scale];
        ink.beginPath();
        ink.moveTo(x0, used[i]);
        ink.bezierCurveTo(width / 2, used[i], width / 2, filled[j], x1, filled[j]);
        ink.lineTo(x1, filled[j] + b);
        ink.bezierCurveTo(width / 2, filled[j] + b, width / 2, used[i] + a, x0, used[i] + a);
        ink.closePath();
        ink.globalAlpha = 0.45;
        ink.fillStyle = colourOf(r);
        ink.fill();
        used[i] += a;
        filled[j] += b;
      });
    });
    ink.globalAlpha = 1;
    const bars = (keys, sizes, place, x, align) =>
      keys.forEach((k, i) => {
        const tall = Math.max(1, sizes[i] * place.scale);
        ink.fillStyle = colourOf(k);
        ink.fillRect(align === "left" ? x - 8 : x, place.at[i], 8, tall);
        if (tall < 9 && keys.length > 12) return;
        ink.fillStyle = colour("--ink");
        ink.textAlign = align === "left" ? "right" : "left";
        ink.fillText(k, align === "left" ? x - 11 : x + 11, place.at[i] + tall / 2 + 4);
      });
    bars(rows, left, from, x0, "left");
    bars(columns, right, to, x1, "right");
  }

  // ---- words ----------------------------------------------------------------------------------

  function words(index) {
    const p = own.partitions[index];
    const how = p.kind === "answer" ? "" : `, ${p.algorithm}${p.parameters ? ` (${p.parameters})` : ""}`;
    const agrees = index === 0 ? "" : ` Adjusted Rand index with the answer: ${fixed(p.agreement, 3)}.`;
    return `Shown: ${p.name}${how}, ${p.n_clusters} cluster${p.n_clusters === 1 ? "" : "s"}.${agrees}`;
  }

  // What the colours of the map say, in words.
  function neighbours(index) {
    if (!steps || own.partitions.length < 3) return "";
    const others = own.partitions.map((_, i) => i).filter((i) => i !== index);
    others.sort((a, b) => distance(index, a) - distance(index, b));
    const said = (i) => `${own.partitions[i].name} (${distance(index, i).toFixed(2)})`;
    const far = others[others.length - 1];
    const mean = others.reduce((s, i) => s + distance(index, i), 0) / others.length;
    return `Mean distance to the others: ${mean.toFixed(2)}. Nearest to it, by distance: ${others.slice(0, 3).map(said).join(", ")}; farthest: ${said(far)}.`;
  }

  function tellPoint(labels) {
    if (state.point === null) {
      at("point").textContent = "";
      return;
    }
    if (choices) at("hint").textContent = `Point ${points.ids[state.point]}.`;
    const i = state.point;
    const name = (label) => (label === null || label < 0 ? "none" : label);
    const sure = points.confidence[i] === null ? "" : `, confidence ${points.confidence[i].toFixed(2)}`;
    const next = points.runner_up[i] === null ? "" : `; second best ${points.runner_up[i]} (${points.runner_up_share[i].toFixed(2)})`;
    const here = state.shown === 0 ? "" : ` Here: ${labels[i] >= none ? "none" : labels[i]}.`;
    at("point").textContent = `Point ${points.ids[i]}: cluster ${name(points.label[i])} in the answer${sure}${next}.${here}`;
  }

  // ---- the table of points --------------------------------------------------------------------

  const COLUMNS = [
    { name: "id", title: "Point", of: (i) => points.ids[i] },
    { name: "label", title: "Cluster", of: (i) => points.label[i] },
    { name: "confidence", title: "Confidence", of: (i) => points.confidence[i] },
    { name: "runner_up", title: "Second best", of: (i) => points.runner_up[i] },
    { name: "runner_up_share", title: "Its share", of: (i) => points.runner_up_share[i] },
  ];
  if (points && points.reference) COLUMNS.push({ name: "reference", title: "Class", of: (i) => points.reference[i] || null });
  const PAGE = 20;

  function rowsShown() {
    const wanted = state.search.trim().toLowerCase();
    const column = COLUMNS.find((c) => c.name === state.sort);
    const found = [];
    for (let i = 0; i < n; i++) if (!wanted || points.ids[i].toLowerCase().includes(wanted)) found.push(i);
    const order = (a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const sign = state.down ? -1 : 1;
      return typeof x === "string" ? sign * x.localeCompare(y, "en", { numeric: true }) : sign * (x - y);
    };
    return found.sort(order);
  }

  function fillPoints() {
    const grid = at("points-table");
    const rows = rowsShown();
    state.page = Math.max(0, Math.min(state.page, Math.ceil(rows.length / PAGE) - 1));
    [...grid.tHead.rows[0].cells].forEach((cell, c) => {
      const sorted = COLUMNS[c].name === state.sort;
      cell.setAttribute("aria-sort", sorted ? (state.down ? "descending" : "ascending") : "none");
      cell.firstChild.textContent = COLUMNS[c].title + (sorted ? (state.down ? " ▼" : " ▲") : "");
    });
    const body = grid.tBodies[0];
    body.replaceChildren();
    for (const i of rows.slice(state.page * PAGE, (state.page + 1) * PAGE)) {
      const line = body.insertRow();
      if (i === state.point) line.className = "marked";
      for (const column of COLUMNS) {
        const value = column.of(i);
        const share = column.name === "confidence" || column.name === "runner_up_share";
        line.insertCell().textContent = value === null ? "–" : share ? value.toFixed(2) : column.name === "label" && value < 0 ? "none" : brief(value);
      }
      if (own) {
        const find = make("button", brief(points.ids[i]), { type: "button", title: `Show on the map: ${points.ids[i]}` });
        find.addEventListener("click", () => update({ point: i }));
        const head = make("th", undefined, { scope: "row" });
        head.append(find);
        line.cells[0].replaceWith(head);
      }
    }
    at("which").textContent = shownOf(rows.length);
    at("earlier").disabled = state.page === 0;
    at("later").disabled = (state.page + 1) * PAGE >= rows.length;
  }

  function shownOf(count) {
    if (count === 0) return data.n_points > n ? "none of the points shown has such an id" : "no point has such an id";
    const said = `${count.toLocaleString("en")} point${count === 1 ? "" : "s"}`;
    if (count <= PAGE) return said;
    return `${state.page * PAGE + 1} to ${Math.min((state.page + 1) * PAGE, count)} of ${said}`;
  }

  function setUpPoints() {
    const head = at("points-table").tHead.rows[0];
    for (const column of COLUMNS) {
      const sort = make("button", column.title, { type: "button" });
      sort.addEventListener("click", () => update({ sort: column.name, down: state.sort === column.name && !state.down, page: 0 }));
      const cell = make("th", undefined, { scope: "col" });
      cell.append(sort);
      head.append(cell);
    }
    at("search").value = state.search;
    at("search").addEventListener("input", () => update({ search: at("search").value, page: 0 }));
    at("earlier").addEventListener("click", () => update({ page: state.page - 1 }));
    at("later").addEventListener("click", () => update({ page: state.page + 1 }));
    at("download").addEventListener("click", download);
  }

  function download() {
    // A cell that a spreadsheet would take for a formula gets an apostrophe.
    const cell = (value) => {
      let text = value === null ? "" : String(value);
      if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const lines = [COLUMNS.map((c) => c.name).join(",")];
    for (const i of rowsShown()) lines.push(COLUMNS.map((c) => cell(c.of(i))).join(","));
    const link = make("a", undefined, { download: "points.csv" });
    link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // ---- the consensus matrix -------------------------------------------------------------------

  function drawMatrix() {
    const given = data.matrix;
    const m = given.n_points;
    const values = bytes(given.values);
    const image = new ImageData(m, m);
    const from = [255, 255, 255];
    const to = [8, 48, 107];
    for (let i = 0; i < m * m; i++) {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = from[c] + ((to[c] - from[c]) * values[i]) / 255;
      image.data[4 * i + 3] = 255;
    }
    const stamp = make("canvas", undefined, { width: m, height: m });
    stamp.getContext("2d").putImageData(image, 0, 0);
    const { ink, width, height } = sheet(at("matrix-image"));
    const bars = given.reference ? 44 : 24;
    const side = Math.min(height - 18, width - bars - 76);
    ink.imageSmoothingEnabled = false;
    ink.drawImage(stamp, bars, 0, side, side);
    const row = side / m;
    const classes = given.reference ? [...new Set(given.reference)].filter((c) => c !== "").sort() : [];
    const tint = (name) => (name === "" ? data.noise : data.palette[data.palette.length - 1 - (classes.indexOf(name) % data.palette.length)]);
    for (let i = 0; i < m; i++) {
      ink.fillStyle = given.labels[i] < 0 ? data.noise : data.palette[given.labels[i] % data.palette.length];
      ink.fillRect(bars - 17, i * row, 14, row + 0.5);
      if (given.confidence[i] !== null) ink.fillRect(bars + side + 4, i * row, 60 * given.confidence[i], row + 0.5);
      if (!given.reference) continue;
      ink.fillStyle = tint(given.reference[i]);
      ink.fillRect(bars - 36, i * row, 14, row + 0.5);
    }
    nameRows(ink, given.labels.map((c) => (c < 0 ? "" : c)), bars - 10, row);
    if (given.reference) nameRows(ink, given.reference.map((c) => letter(classes.indexOf(c))), bars - 29, row);
    ink.font = "11px system-ui, sans-serif";
    ink.fillStyle = colour("--soft");
    ink.textAlign = "left";
    if (given.confidence.some((v) => v !== null)) ink.fillText("confidence", bars + side + 4, side + 13);
    ink.fillText(given.reference ? "class, cluster" : "cluster", 0, side + 13);
    drawMatrixRamp(from, to);
    const box = at("classes");
    if (!given.reference || box.firstChild) return;
    if (given.reference.includes("")) box.append(make("span", "grey: no class"));
    classes.slice(0, 60).forEach((name, c) => {
      const sign = make("canvas", undefined, { "aria-hidden": "true", width: 14, height: 14 });
      const paint = sign.getContext("2d");
      paint.fillStyle = tint(name);
      paint.fillRect(1, 1, 12, 12);
      const entry = make("span");
      entry.append(sign, `${letter(c)} ${brief(name)}`);
      box.append(entry);
    });
  }

  // Letters of classes beside the matrix, so that colour is not the only cue.
  const letter = (c) => (c < 0 ? "" : (c >= 26 ? String.fromCharCode(96 + Math.floor(c / 26)) : "") + String.fromCharCode(97 + (c % 26)));

  function drawMatrixRamp(from, to) {
    const box = at("matrix-ramp");
    if (!box.firstChild) box.append(make("span", "never together"), make("canvas", undefined, { "aria-hidden": "true" }), make("span", "always together"));
    const { ink, width, height } = sheet(box.querySelector("canvas"));
    for (let x = 0; x < width; x++) {
      ink.fillStyle = `rgb(${from.map((v, i) => Math.round(v + ((to[i] - v) * x) / width)).join(",")})`;
      ink.fillRect(x, 0, 1, height);
    }
  }

  function nameRows(ink, labels, x, row) {
    ink.font = "bold 11px system-ui, sans-serif";
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.lineWidth = 3;
    for (let start = 0; start < labels.length; ) {
      let end = start;
      while (end < labels.length && labels[end] === labels[start]) end++;
      if ((end - start) * row > 12 && labels[start] !== "") {
        ink.strokeStyle = "#ffffff";
        ink.fillStyle = "#000000";
        ink.strokeText(labels[start], x, ((start + end) / 2) * row);
        ink.fillText(labels[start], x, ((start + end) / 2) * row);
      }
      start = end;
    }
    ink.textBaseline = "alphabetic";
  }

  // ---- choices, where the page is served ------------------------------------------------------

  const choices = data.choices;
  let first = null; // first point of a pair

  function setUpChoices() {
    const number = (i) => (i === 0 ? 0 : own.partitions[i].number + 1);
    at("take").addEventListener("click", () => choose({ partition: number(state.shown), names: {}, merged: [] }));
    at("merge").addEventListener("click", () => {
      const pair = [Number(at("merge-a").value), Number(at("merge-b").value)];
      if (pair[0] === pair[1]) return;
      // Groups that share a cluster become one.
      const joined = new Set(pair);
      const rest = choices.merged.filter((group) => {
        if (!group.some((c) => joined.has(c))) return true;
        group.forEach((c) => joined.add(c));
        return false;
      });
      choose({ merged: [...rest, [...joined].sort((a, b) => a - b)] });
    });
    const point = () => (state.point === null ? null : points.ids[state.point]);
    at("mark").addEventListener("click", () => {
      const id = point();
      if (id === null) return;
      const known = choices.marked.includes(id);
      choose({ marked: known ? choices.marked.filter((m) => m !== id) : [...choices.marked, id] });
    });
    at("remember").addEventListener("click", () => { first = point(); tellChoices(); });
    const link = (kind) => () => answer_pair(kind, first, point());
    at("together").addEventListener("click", link("must_link"));
    at("apart").addEventListener("click", link("cannot_link"));
    at("asking").hidden = !data.questions.length;
    tellChoices();
  }

  function answer_pair(kind, a, b) {
    if (a === null || b === null || a === b) return;
    // A new answer replaces an earlier one on the same pair.
    const other = (pair) => !(pair.includes(a) && pair.includes(b));
    const kept = { must_link: choices.must_link.filter(other), cannot_link: choices.cannot_link.filter(other) };
    choose({ ...kept, [kind]: [...kept[kind], [a, b]] });
  }

  // Pairs on which the clusterings are divided, until they are answered.
  function askQuestions() {
    const answered = [...choices.must_link, ...choices.cannot_link];
    const open = data.questions.filter(([a, b]) => !answered.some((pair) => pair.includes(a) && pair.includes(b)));
    at("questions").replaceChildren(...open.slice(0, 5).map(([a, b]) => {
      const line = make("li", `${brief(a)} and ${brief(b)} `);
      const offer = (text, act) => {
        const button = make("button", text, { type: "button", "aria-label": `${text}: ${a} and ${b}` });
        button.addEventListener("click", act);
        line.append(button, " ");
      };
      offer("Together", () => answer_pair("must_link", a, b));
      offer("Apart", () => answer_pair("cannot_link", a, b));
      for (const id of [a, b]) {
        const found = points.ids.indexOf(id);
        if (found >= 0) offer(`Show ${brief(id)}`, () => update({ point: found }));
      }
      return line;
    }));
    if (!open.length && data.questions.length) at("questions").replaceChildren(make("li", "All are answered."));
  }

  function tellChoices() {
    askQuestions();
    // Of very many clusterings not all are shown; then the clusters of one taken before are unknown.
    const index = choices.partition === 0 ? 0 : own.partitions.findIndex((p) => p.number === choices.partition - 1);
    const taken = index < 0 ? [] : labelsOf(index);
    const clusters = [...new Set(taken)].filter((c) => c < none).sort((a, b) => a - b);
    at("taken").textContent = `Taken: ${index < 0 ? `clustering ${choices.partition}` : own.partitions[index].name}.`;
    at("names").replaceChildren(...clusters.slice(0, 60).map((c) => {
      const box = make("input", undefined, { type: "text", id: `name-${c}`, maxlength: 200 });
      box.value = choices.names[c] ?? "";
      box.addEventListener("change", () => {
        const names = { ...choices.names, [c]: box.value };
        if (!box.value) delete names[c];
        choose({ names });
      });
      const label = make("label", `Cluster ${c} `, { for: `name-${c}` });
      const line = make("span");
      line.append(label, box);
      return line;
    }));
    for (const id of ["merge-a", "merge-b"]) at(id).replaceChildren(...clusters.map((c) => make("option", c, { value: c })));
    if (clusters.length > 1) at("merge-b").selectedIndex = 1;
    const entry = (text, remove) => {
      const line = make("li", `${text} `);
      const button = make("button", "Remove", { type: "button", "aria-label": `Remove: ${text}` });
      button.addEventListener("click", remove);
      line.append(button);
      return line;
    };
    const without = (list, i) => list.filter((_, j) => j !== i);
    at("merged").replaceChildren(...choices.merged.map((group, i) => entry(`Clusters ${group.join(", ")}`, () => choose({ merged: without(choices.merged, i) }))));
    at("pairs").replaceChildren(
      ...choices.must_link.map((pair, i) => entry(`${pair[0]} together with ${pair[1]}`, () => choose({ must_link: without(choices.must_link, i) }))),
      ...choices.cannot_link.map((pair, i) => entry(`${pair[0]} not with ${pair[1]}`, () => choose({ cannot_link: without(choices.cannot_link, i) }))),
    );
    at("remembered").textContent = first === null ? "" : `First of a pair: ${first}.`;
    at("marks").textContent = choices.marked.length ? `Marked: ${choices.marked.join(", ")}.` : "";
  }

  async function choose(change) {
    Object.assign(choices, change);
    tellChoices();
    try {
      const answer = await fetch("choices", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(choices) });
      at("saved").textContent = (answer.ok ? "" : "Not written: ") + (await answer.json()).message;
    } catch {
      at("saved").textContent = "Not written: the program that serves this page has ended.";
    }
  }

  // ---- all together ---------------------------------------------------------------------------

  const IN_TABLE = ["search", "sort", "down", "page", "point"];

  function draw(change = { page: 0 }) {
    if (own) {
      const labels = labelsOf(state.shown);
      let changed = null;
      const two = state.pin !== null && changes !== null;
      at("comparison").hidden = !two;
      if (two) changed = state.pin === state.shown ? null : showComparison(labelsOf(state.pin), labels);
      if (two && state.pin === state.shown) showComparison(labels, labels);
      drawMap();
      drawSettings();
      drawPoints(labels, changed);
      drawLegend(labels);
      at("partition").selectedIndex = state.shown;
      at("unpin").disabled = state.pin === null;
      at("chosen").textContent = words(state.shown) + (state.pin === null ? "" : ` Pinned: ${own.partitions[state.pin].name}.`);
      at("near").textContent = neighbours(state.shown);
      tellPoint(labels);
    }
    if (points && IN_TABLE.some((name) => name in change)) fillPoints();
  }

  function update(change) {
    Object.assign(state, change);
    writeHash();
    draw(change);
  }

  function nearest(list, count, event, canvas, reach) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let least = reach * reach;
    for (let i = 0; i < count; i++) {
      const [a, b] = list(i);
      const far = (a - x) ** 2 + (b - y) ** 2;
      if (far <= least) [best, least] = [i, far];
    }
    return best;
  }

  function setUpExplorer() {
    const list = at("partition");
    own.partitions.forEach((p, i) => {
      const text = i === 0 ? `${p.name}, ${p.n_clusters} clusters` : `${p.name}: ${p.algorithm}, ${p.n_clusters} clusters, agrees ${fixed(p.agreement, 2)}`;
      list.append(make("option", text, { value: i }));
    });
    list.addEventListener("change", () => update({ shown: list.selectedIndex, cluster: null }));
    at("pin").addEventListener("click", () => update({ pin: state.shown }));
    at("unpin").addEventListener("click", () => update({ pin: null }));
    at("to-answer").addEventListener("click", () => update({ shown: 0, cluster: null }));
    const choosing = (id, places) => at(id).addEventListener("click", (event) => {
      const found = nearest((i) => places()[i], own.partitions.length, event, at(id), 16);
      if (found === null) return;
      if (event.shiftKey) update({ pin: found });
      else update({ shown: found, cluster: null });
    });
    choosing("map", () => mapSpots);
    choosing("settings", () => settingSpots);
    at("data").addEventListener("click", (event) => {
      if (!spots) return;
      const found = nearest((i) => [spots[2 * i], spots[2 * i + 1]], n, event, at("data"), 12);
      update({ point: found });
    });
  }

  // One part that cannot be drawn leaves the others as they are.
  function attempt(section, act) {
    try {
      act();
    } catch (error) {
      const said = `This part could not be drawn (${error.message}).`;
      const box = at(section);
      if (box && ![...box.children].some((c) => c.textContent === said)) box.append(make("p", said));
    }
  }

  function drawAll() {
    attempt("alternatives", draw);
    if (at("glance")) attempt("verdict", drawGlance);
    if (data.matrix) attempt("matrix", drawMatrix);
  }

  async function loadAlternatives() {
    if (typeof DecompressionStream === "undefined") {
      at("chosen").textContent = "This browser is too old to show the other clusterings; the answer is shown.";
      return;
    }
    const [labels, far] = await Promise.all([unpacked(own.labels), unpacked(own.distances)]);
    changes = wide(labels, own.bytes);
    steps = far;
    draw();
    if (choices) setUpChoices();
    finish();
  }

  // Only now is all in its place.
  function finish() {
    if (state.section && at(state.section)) at(state.section).scrollIntoView();
    document.documentElement.dataset.ready = "true";
  }

  readHash();
  if (own) setUpExplorer();
  if (points) setUpPoints();
  drawAll();
  if (own) loadAlternatives();
  else finish();
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("=")) {
      readHash();
      draw();
      return;
    }
    // A link of the table of contents: the address keeps what was chosen.
    state.section = location.hash.slice(1) || null;
    if (state.shown || state.pin !== null || state.point !== null || state.search) writeHash();
  });
  window.addEventListener("resize", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is white, whatever the screen is.
  matchMedia("print").addEventListener("change", drawAll);
  // What is folded away cannot be opened on paper, and a head with buttons is not repeated on the
  // next sheet.
  let folded = [];
  let heads = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
    heads = [...document.querySelectorAll("thead button")].map((button) => [button.parentElement, button]);
    for (const [cell, button] of heads) cell.textContent = button.textContent;
  });
  window.addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
    for (const [cell, button] of heads) cell.replaceChildren(button);
  });
})();
