"use strict";
// Draws what the page's data hold: tags to check, a list of tags, one tag with all its samples, one sample, the map of
// weights, one feature. Text enters the page only as text (textContent), never as HTML.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data) return; // the list of datasets has no data
  const COLOUR = `var(--${data.colour})`; // see PALETTE in figures/style.py
  const LONGEST = 60; // characters of a caption
  const MOST_UNLEARNT = 50; // tags that were not learnt, in the list of those that are sought
  const NOBODY = 255; // a probability that is not known
  const at = (id) => document.getElementById(id);
  const state = { word: "", view: null, kind: "wrong", only: -1, cards: 0 };

  function element(tag, properties, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children);
    return made;
  }

  function button(text, act, properties) {
    const made = element("button", { type: "button", ...properties }, text);
    made.addEventListener("click", act);
    return made;
  }

  // A word in a sentence. Letters that run from right to left must not reorder the sentence around them.
  const isolated = (word) => element("bdi", {}, word);
  const number = (value, digits) => value === null || value === undefined ? "–" : (value + 1e-9).toFixed(digits === undefined ? 3 : digits);
  const percent = (p) => p === NOBODY ? "–" : p === 0 ? "<\u00a01\u00a0%" : p === 100 ? ">\u00a099\u00a0%" : `${p}\u00a0%`;
  const counted = (n, plural, singular) => `${n.toLocaleString("en")} ${n === 1 ? singular : plural}`;

  // Samples. They are known by their row in the table of images, tags by their number.

  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

  const all_rows = new (data.samples.length < 65536 ? Uint16Array : Uint32Array)(bytes(data.having.rows).buffer);
  const their_probabilities = bytes(data.having.probabilities);
  let end = 0;
  const having = data.having.counts.map((n) => { // for each tag, the rows of the samples that have it
    end += n;
    return { rows: all_rows.subarray(end - n, end), p: their_probabilities.subarray(end - n, end) };
  });
  const tags_of = new Map(); // row: { tag: probability }, for the tags that the sample has
  having.forEach(({ rows, p }, k) => rows.forEach((row, i) => {
    if (!tags_of.has(row)) tags_of.set(row, {});
    tags_of.get(row)[k] = p[i];
  }));
  const place_of = new Map(Object.keys(data.images).map((row, i) => [Number(row), i]));
  const all_probabilities = bytes(data.probabilities);

  const has = (row, k) => k in (tags_of.get(row) || {});
  const names_of = (row) => Object.keys(tags_of.get(row) || {}).map((k) => data.names[k]);

  // The probability of every tag on a sample; of the tags that it has, if the page knows no others.
  function probabilities(row) {
    const n = data.names.length, begin = n * place_of.get(row);
    if (place_of.has(row)) return all_probabilities.subarray(begin, begin + n);
    return data.names.map((name, k) => (has(row, k) ? tags_of.get(row)[k] : NOBODY));
  }

  const exact = (name) => decodeURIComponent(Object.hasOwn(data.moved, name) ? data.moved[name] : encodeURIComponent(name)); // with all its characters

  function original(row) {
    if (data.files) return data.files[row];
    return data.base === null ? null : data.base + encodeURIComponent(exact(data.samples[row])).replaceAll("%2F", "/");
  }

  // A sample as the page knows it. file: its thumbnail or, if there is none, its original file.
  function sample(row) {
    const known = data.images[row] || { captions: names_of(row), maps: [] };
    return { ...known, name: data.samples[row], file: known.file || original(row), thumbnail: known.file, original: original(row) };
  }

  // Tags to check. A decision says of a sample whether it has a tag: [sample, tag, "yes" or "no", another tag or null].
  // Where classes exclude each other, the other tag is the class that is right if this one is wrong, or the reverse.

  let decisions = [], known = new Map(), forgetful = false; // known: what the decisions say of each sample's tags

  function load() {
    try {
      decisions = JSON.parse(localStorage.getItem(data.key)) || [];
    } catch {
      forgetful = true;
    }
  }

  function remember() {
    try {
      localStorage.setItem(data.key, JSON.stringify(decisions));
      forgetful = false;
    } catch {
      forgetful = true;
    }
    recall();
  }

  function recall() {
    known = new Map();
    for (const [name, tag, yes] of decisions.flatMap(rows_of)) known.set(name, (known.get(name) || new Map()).set(tag, yes));
    refresh();
  }

  // What a spreadsheet would run as a formula gets an apostrophe in front, as in all tables, see FORMULA in tables.py.
  const FORMULA = /((?:^|[,;\t\r\n])[ "]*)(?='*[=+\-@＝＋－＠])|^(?='*[\t\r\n])/g;

  // The rows of corrections.csv.
  const rows_of = ([name, tag, yes, other]) => [[name, tag, yes], ...(other === null ? [] : [[name, other, yes === "yes" ? "no" : "yes"]])];

  // What was decided about a label to check: "accepted" or "rejected", or "" as long as nothing was.
  function decided([row, k], kind) {
    const tags = known.get(data.samples[row]);
    const yes = tags && (tags.get(data.names[k]) || (data.exclusive && [...tags.values()].includes("yes") ? "no" : ""));
    return yes ? ((yes === "yes") === (kind === "missing") ? "accepted" : "rejected") : "";
  }

  function decide([row, k], accepts, other) {
    const [name, tag] = [data.samples[row], data.names[k]];
    const yes = accepts === (state.kind === "missing") ? "yes" : "no";
    const right = accepts && data.exclusive ? other : null, names_class = data.exclusive && (yes === "yes" || right !== null);
    // A class that is named replaces all that was said of the sample; that a class is wrong leaves the other classes as they are.
    decisions = decisions.filter((one) => one[0] !== name || (one[1] !== tag && one[3] !== tag && !names_class));
    decisions.push([name, tag, yes, right]);
    remember();
  }

  function undo() {
    const [name, tag] = decisions.pop() || [];
    remember();
    cards().find((one) => one.label && data.samples[one.label[0]] === name && data.names[one.label[1]] === tag)?.focus();
  }

  function save() {
    const cell = (text) => `"${exact(text).replace(FORMULA, "$1'").replaceAll('"', '""')}"`;
    const lines = [["sample", "tag", "has"], ...decisions.flatMap(rows_of)].map((row) => row.map(cell).join(","));
    const address = URL.createObjectURL(new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" }));
    element("a", { href: address, download: "corrections.csv" }).click();
    at("saved").hidden = false;
    at("saved").scrollIntoView({ block: "nearest" }); // it may be far below the button
  }

  const listed = () => data.check[state.kind].filter(([, k]) => state.only < 0 || k === state.only);
  const cards = () => [...at("cards").children];

  // Show the labels of a kind, of one tag or of all.
  function check() {
    const shown = listed();
    for (const kind of at("kinds").children) kind.setAttribute("aria-pressed", String(kind.dataset.kind === state.kind));
    const count = (k) => data.check[state.kind].filter(([, tag]) => k < 0 || tag === k).length;
    const tags = [...new Set(data.check[state.kind].map(([, k]) => k))].sort((a, b) => data.names[a].localeCompare(data.names[b]));
    if (state.only >= 0 && !tags.includes(state.only)) tags.unshift(state.only);
    at("only").replaceChildren(...[-1, ...tags].map((k) =>
      element("option", { value: k, selected: k === state.only }, `${k < 0 ? `all ${data.tags}` : data.names[k]} (${count(k)})`)));
    at("remark").textContent = data.exclusive
      ? `Change gives the ${data.thing} the ${data.tag} ${state.kind === "wrong" ? "in the box" : "that may be missing"} instead of its own, Keep leaves it as it is.`
      : state.kind === "wrong" ? `The model finds these ${data.tags} improbable. Remove accepts this, Keep rejects it.`
        : `The model finds these ${data.tags} probable, but many say the same as ${data.tags} that the ${data.thing} has. Add accepts this, Leave rejects it.`;
    at("cards").replaceChildren(...shown.slice(0, state.cards).map(card));
    if (!shown.length) at("cards").append(element("li", {}, `No ${data.tag} looks ${state.kind}.`));
    at("more").hidden = shown.length <= state.cards;
    refresh();
  }

  function card(label) {
    const [row, k, listed_as] = label, p = probabilities(row), wrong = state.kind === "wrong", asks = data.exclusive && wrong;
    const shown = sample(row), others = names_of(row).filter((name) => name !== data.names[k]);
    const classes = [...data.names.keys()].filter((one) => one !== k).sort((a, b) => p[b] - p[a]).map((one) => data.names[one]);
    const choice = element("select", {}, ...[...classes, ...data.not_learnt.words.map(([name]) => name)].map((name) => element("option", { value: name }, name)));
    const choose = (accepts) => () => {
      decide(label, accepts, wrong ? choice.value : shown.captions[0]);
      next(made);
    };
    const [accept, reject] = data.exclusive ? ["Change", "Keep"] : wrong ? ["Remove", "Keep"] : ["Add", "Leave"];
    const has = others.length ? [data.exclusive ? "is " : wrong ? "also has " : "has ", isolated(others.join(", "))] : asks ? [] : [`has no ${wrong ? "other " : ""}${data.tag}`];
    const place = listed().indexOf(label), rows = listed().map(([one]) => one);
    const made = element("li", { className: "card", tabIndex: 0 },
      opener(row, k, () => view(rows, place, k)),
      element("p", { className: "tag" }, element("strong", {}, isolated(data.names[k])), element("span", {}, percent(listed_as))),
      element("p", { className: "faint" }, ...has),
      asks ? element("label", {}, "change to ", choice) : "",
      element("div", { className: "decide" }, button(accept, choose(true), { className: "accept" }), button(reject, choose(false), { className: "reject" })));
    return Object.assign(made, { label });
  }

  // Go on to the next label that is not decided, and show more of them if there is none.
  function next(card) {
    const all = cards(), open = (one) => one.label && !decided(one.label, state.kind);
    const after = all.slice(all.indexOf(card) + 1).find(open) || all.find(open);
    if (after) after.focus();
    else if (!at("more").hidden) more();
  }

  function more() {
    state.cards += data.at_once;
    check();
    cards()[state.cards - data.at_once].focus();
  }

  // Show what is decided, in the cards and in numbers.
  function refresh() {
    for (const one of cards().filter((each) => each.label)) {
      const verdict = decided(one.label, state.kind);
      one.className = `card ${verdict}`;
      for (const side of ["accept", "reject"]) one.querySelector(`.${side}`).setAttribute("aria-pressed", String(verdict === `${side}ed`));
    }
    const all = Object.entries(data.check).flatMap(([kind, labels]) => labels.map((label) => decided(label, kind)));
    at("counted").textContent = `${all.filter(Boolean).length} of ${all.length} decided: ${all.filter((one) => one === "accepted").length} accepted`;
    at("undo").disabled = at("save").disabled = !decisions.length;
    at("forgetful").hidden = !forgetful;
  }

  function pressKeyOfCheck(event) {
    const all = cards(), own = event.target.closest(".card"), i = all.indexOf(own);
    const across = all.filter((one) => one.offsetTop === all[0].offsetTop).length;
    const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (by && own && all[i + by]) all[i + by].focus();
    else if (event.key === "j" && !own) next(null);
    else if (event.key === "u" && event.target.closest("#check")) undo();
    else if (own && event.key === "a") own.querySelector(".accept").click();
    else if (own && event.key === "r") own.querySelector(".reject").click();
    else if (event.key === "Enter" && event.target === own) own.querySelector(".open").click();
    else return;
    event.preventDefault();
  }

  function fillCheck() {
    at("kinds").append(...Object.keys(data.check).map((kind) =>
      button(`May be ${kind} (${data.check[kind].length})`, () => only(state.only, kind), { "data-kind": kind })));
    at("only").addEventListener("change", (event) => only(Number(event.target.value)));
    at("more").addEventListener("click", more);
    at("undo").addEventListener("click", undo);
    at("save").addEventListener("click", save);
    window.addEventListener("storage", (event) => { // another window with this page has decided
      if (event.key !== data.key) return;
      load();
      recall();
    });
    load();
    recall();
    only(-1);
  }

  function only(k, kind) {
    Object.assign(state, { only: k, kind: kind || state.kind, cards: data.at_once });
    check();
  }

  // Controls.

  function fillControls() {
    at("order").addEventListener("change", list);
    at("seek").addEventListener("input", list);
    at("find").addEventListener("click", (event) => {
      event.preventDefault(); // following the link would take the focus away from the search
      at("words").scrollIntoView();
      at("seek").focus({ preventScroll: true });
    });
    window.addEventListener("hashchange", follow);
    window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    at("before").addEventListener("click", () => step(-1));
    at("after").addEventListener("click", () => step(1));
    at("leave").addEventListener("click", () => viewer.close());
    viewer.addEventListener("click", (event) => event.target === viewer && viewer.close());
    viewer.addEventListener("close", () => history.state && history.state.viewer && history.back());
    window.addEventListener("popstate", (event) => !(event.state && event.state.viewer) && viewer.open && viewer.close());
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input")) return;
      if (!viewer.open) return pressKeyOfCheck(event);
      if (event.key === "ArrowRight") step(1);
      else if (event.key === "ArrowLeft") step(-1);
      else return;
      event.preventDefault();
    });
  }

  // The list of tags, and one tag.

  const sought = () => at("seek").value.trim().toLowerCase();

  function sorted() {
    const by = (...keys) => (a, b) => keys.reduce((order, key) => order || b[key] - a[key], 0);
    const orders = { positives: by("positives"), name: (a, b) => a.word.localeCompare(b.word) };
    orders.best = (a, b) => (b.verdict === "recognised") - (a.verdict === "recognised") || by("precision_at_10", "auc")(a, b);
    for (const one of data.statistics) orders[one.key] = (a, b) => (one.higher_is_better ? 1 : -1) * by(one.key)(a, b);
    return data.words.filter((one) => one.word.toLowerCase().includes(sought())).sort(orders[at("order").value]);
  }

  const VERDICTS = { recognised: "better than chance", not: "not significantly better than chance", few: `too few test ${data.things} to tell` };

  function list() {
    const shown = sorted(), columns = 4 + data.statistics.length;
    const others = sought() ? data.not_learnt.words.filter(([name]) => name.toLowerCase().includes(sought())) : [];
    at("list").replaceChildren(
      ...shown.map((one) => {
        const [auc, ...others] = data.statistics.map(({ key, digits }) => number(one[key], digits));
        const cells = [button(one.word, () => go(one.word)), auc, meter(one), ...others, String(one.n_features), String(one.positives)];
        const properties = { className: one.verdict === "recognised" ? "" : "chance", title: VERDICTS[one.verdict] };
        return element("tr", properties, ...cells.map((cell) => element("td", {}, cell)));
      }),
      ...others.slice(0, MOST_UNLEARNT).map(([name, n, reason]) => element("tr", { className: "chance" }, element("td", { colSpan: columns },
        isolated(name), ` was not learnt: ${counted(n, data.things, data.thing)} ${n === 1 ? "has" : "have"} it; ${data.not_learnt.reasons[reason]}.`))),
      shown.length + others.length ? "" : element("tr", {}, element("td", { colSpan: columns }, `no ${data.tag} contains this`))
    );
    press();
  }

  // A bar for the AUC from chance (.5) to 1, with its interval as a line.
  function meter(one) {
    const place = (auc) => `${200 * (Math.min(1, Math.max(0.5, auc || 0)) - 0.5)}%`;
    const bar = element("i", {}), line = element("b", {});
    bar.style.width = place(one.auc);
    if (one.verdict === "recognised") bar.style.background = COLOUR;
    Object.assign(line.style, { left: place(one.auc_low), width: `calc(${place(one.auc_high)} - ${place(one.auc_low)})` });
    return element("span", { className: "meter", title: interval(one) }, bar, one.auc_low === null ? "" : line);
  }

  const interval = (one) => one.auc_low === null ? "" : `95 % interval: ${number(one.auc_low)} to ${number(one.auc_high)}`;

  function press() {
    const box = at("list").closest(".list");
    for (const one of at("list").querySelectorAll("button")) {
      const pressed = one.textContent === state.word;
      one.setAttribute("aria-pressed", String(pressed));
      if (pressed) box.scrollTop = one.offsetTop - box.clientHeight / 2;
    }
  }

  // Go to a tag by its address, so that the back button works.
  function go(name) {
    show(name);
    location.hash = `#word=${encodeURIComponent(name)}`;
  }

  function show(name) {
    state.word = name;
    press();
    word();
    const { top } = at("word").getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) at("word").scrollIntoView();
  }

  function follow() {
    let name;
    try {
      name = decodeURIComponent((/^#word=(.*)$/.exec(location.hash) || [])[1] || "");
    } catch {
      return; // the address is cut off
    }
    if (!name) return;
    if (!data.words.some((one) => one.word === name)) {
      at("seek").value = name; // so that the list says why
      list();
    } else show(name);
  }

  function word() {
    const k = data.words.findIndex((each) => each.word === state.word), one = data.words[k];
    const p = one.p_holm < 1e-16 ? "p < 1e-16" : `p = ${(one.p_holm || 0).toPrecision(2)}`;
    const values = data.statistics.map(({ key, label, digits }) =>
      `${label} ${number(one[key], digits)}${key === "auc" && interval(one) ? ` (${interval(one)})` : ""}`);
    const facts = [`${one.positives} of ${one.of} test ${data.things} have it`, ...values, counted(one.n_features, "features", "feature"),
      `${VERDICTS[one.verdict]}${one.p_holm === null ? "" : ` (${p}, corrected for the number of ${data.tags})`}`];
    const beside = one.beside.flatMap(([other, count], i) => [`${i ? ", " : ""}${count} have “`, isolated(other), "”"]);
    const right = one.verdict === "few" ? `Too few test ${data.things} to tell. ` : `${number(one.precision_at_10 * data.first, 0)} of the ` +
      `${data.first} most probable test ${data.things} are right; guessing would give ${number(one.by_chance, 1)}. `;
    const kinds = Object.keys(data.check).filter((kind) => data.check[kind].some(([, tag]) => tag === k));
    const sense = element("select", { id: "sense" }, element("option", { value: "most" }, "most probable first"), element("option", { value: "least" }, "least probable first"));
    sense.addEventListener("change", () => all(k, data.at_once));
    at("word").replaceChildren(
      element("h3", {}, "“", isolated(one.word), "”"),
      element("p", {}, element("strong", {}, right), facts.join("; ") + "."),
      one.telling ? element("p", {}, `Features with the largest weights for it: ${one.telling.join(", ") || "none"}.`) : "",
      beside.length ? element("p", {}, `Of the ${one.top} most probable test ${data.things} `, ...beside, ", at least twice as many as expected by chance.") : "",
      ...kinds.map((kind) => button(`Check where it may be ${kind}`, () => {
        only(k, kind);
        at("check").scrollIntoView();
      }, { className: "door" })),
      element("h3", {}, `All ${counted(having[k].rows.length, data.things, data.thing)} with the ${data.tag}`),
      element("label", {}, "Order ", sense),
      element("div", { className: "gallery", id: "samples" }),
      button("Show more", () => all(k, at("samples").childElementCount + data.at_once), { id: "more-samples", className: "door" })
    );
    all(k, data.at_once);
  }

  // The first samples that have a tag.
  function all(k, most) {
    const rows = Array.from(having[k].rows);
    if (at("sense").value === "least") rows.reverse();
    at("samples").replaceChildren(...rows.slice(0, most).map((row) => picture(row, percent(probabilities(row)[k]), k, rows)));
    at("more-samples").hidden = rows.length <= most;
  }

  const cut = (text) => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST).replace(/ \S*$/, "")} …`);

  // A sample of a gallery, with its map of a tag or feature if there is one. title: its probability. rows: its neighbours.
  function picture(row, title, k, rows) {
    const shown = sample(row), captions = (shown.thumbnail && shown.text ? [shown.text] : shown.captions).join(" / ");
    return element("figure", {}, opener(row, k, () => view(rows, rows.indexOf(row), k)),
      element("figcaption", { title: `${shown.name}: ${captions}` }, title ? element("strong", {}, title) : "", " ", cut(captions)));
  }

  // What one clicks at to enlarge a sample.
  function opener(row, k, act) {
    const shown = sample(row), of_feature = k < data.names.length ? "" : "shown";
    const made = button("", act, { className: `open mapped ${of_feature}`, title: shown.name });
    made.append(...(shown.file ? sights(shown, k) : [shown.text || summary(row) || shown.name]));
    return made;
  }

  function sights(image, k) {
    const picture = element("img", { loading: "lazy", decoding: "async", alt: image.captions.join(" / ") || image.name, src: image.file });
    picture.addEventListener("error", () => { // such as a format that browsers cannot show
      if (image.thumbnail && !picture.src.endsWith(image.thumbnail)) picture.src = image.thumbnail;
      else picture.replaceWith(image.name);
    });
    return mapped(image, k) ? [picture, map_of(image, k)] : [picture];
  }

  const mapped = (image, k) => data.with_maps && image.maps.includes(k);

  const map_of = (image, k) => element("img", { loading: "lazy", alt: `map of “${data.names[k] || "the feature"}”`,
    src: image.thumbnail.replace(".webp", `-${String(k).padStart(3, "0")}.webp`) });

  // A sample, enlarged, and what the model says about it.

  const viewer = at("viewer");
  function view(rows, i, k) {
    state.view = { rows, i, k };
    const row = rows[i], image = sample(row), enlarged = { ...image, file: image.original || image.file };
    const sight = (...shown) => element("span", { className: "sight mapped shown" }, ...shown);
    const pictures = image.file ? [sight(...sights(enlarged, -1))] : [image.text || summary(row) || image.name];
    if (mapped(image, k)) pictures.push(sight(...sights(image, k)));
    at("viewed").textContent = image.name;
    at("place").textContent = `${i + 1} of ${rows.length}`;
    at("view").replaceChildren(
      element("div", { className: "sights" }, ...pictures),
      element("p", {}, [...(image.file && image.text ? [image.text] : []), ...image.captions].join(" / "), " ", image.original ? element("a", { href: image.original, target: "_blank", rel: "noopener" }, "Open the file") : ""),
      k >= 0 && k < data.names.length ? why(row, image, k) : "",
      element("h3", {}, place_of.has(row) ? "How probable the model finds each " + data.tag : `How probable the model finds its ${data.tags}`),
      element("p", { className: "faint" }, `✓ marks the ${data.tags} that it has${unclear(row).length ? `, ? those of which this is unknown` : ""}.`),
      element("div", { className: "said" }, ...said(row, image))
    );
    if (!viewer.open) history.pushState({ viewer: true }, ""); // the back button closes the viewer
    if (!viewer.open) viewer.showModal();
  }

  const unclear = (row) => data.unclear[row] || [];

  // What the model says about a tag, and why.
  function why(row, image, k) {
    const reasons = data.reasons;
    const owns = has(row, k) ? "it has" : unclear(row).includes(k) ? "it is unknown whether it has" : "it does not have";
    const said = [`”: ${percent(probabilities(row)[k])}, and ${owns} the ${data.tag}.`];
    if (mapped(image, k)) said.push(`On the map, red parts speak for the ${data.tag} and blue parts against it.`);
    if (reasons && reasons.values[row]) {
      const weights = unpacked(reasons.weights), n = data.names.length;
      const parts = reasons.values[row].map(([j, x]) => [reasons.features[j], x * weights[j * n + k]]);
      parts.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const some = (sign) => parts.filter(([, part]) => sign * part > 0).map(([feature]) => feature).join(", ") || "none";
      said.push(`Features that speak for it: ${some(1)}. Against it: ${some(-1)}.`);
    }
    return element("p", {}, "“", isolated(data.names[k]), said.join(" "));
  }

  // The features of a sample that matter most.
  function summary(row) {
    const reasons = data.reasons;
    return reasons && reasons.brief && reasons.values[row] ? reasons.values[row].map(([j]) => reasons.features[j]).join(", ") : "";
  }

  const step = (by, { rows, i, k } = state.view) => view(rows, (i + by + rows.length) % rows.length, k);

  // The probabilities of all tags that the page knows, the highest first. A click shows what speaks for a tag.
  function said(row, image) {
    const p = probabilities(row), { rows, i, k: asked } = state.view;
    return [...data.names.keys()].filter((k) => p[k] !== NOBODY).sort((a, b) => p[b] - p[a]).map((k) => {
      const bar = element("i", {}), explained = mapped(image, k) || (data.reasons && data.reasons.values[row]);
      Object.assign(bar.style, { width: `${p[k]}%`, background: COLOUR });
      const text = `${has(row, k) ? "✓ " : unclear(row).includes(k) ? "? " : ""}${data.names[k]}`;
      const name = explained ? button(text, () => {
        view(rows, i, k);
        viewer.querySelector(`[data-word="${k}"]`).focus();
      }, { title: "show what speaks for it", "aria-pressed": String(k === asked) }) : element("span", {}, text);
      name.dataset.word = k;
      return element("div", { className: has(row, k) ? "true" : "" }, name, element("span", { className: "meter" }, bar), element("span", {}, percent(p[k])));
    });
  }

  // What tags share.

  const unpacked = (text) => new Int8Array(bytes(text).buffer);

  // A picture of a tag or a feature, small.
  function sign(row) {
    const image = row === undefined ? {} : data.images[row];
    return image.file ? element("img", { loading: "lazy", src: image.file, alt: "", title: image.captions.join(" / ") }) : "";
  }

  function map() {
    const shared = data.weights, weights = unpacked(shared.weights), n = shared.words.length;
    at("shared-by").textContent = shared.apart ? `A row with several coloured cells is a feature that several ${data.tags} share.` :
      `With ${data.method} every feature in use has a weight for nearly every ${data.tag}; the strongest colours show for which ${data.tags} it matters most.`;
    const head = element("tr", {}, element("th", {}), ...shared.words.map((k) =>
      element("th", { scope: "col" }, element("span", {}, data.names[k]), sign(having[k].rows[0]))));
    const rows = shared.features.map((feature, i) => {
      const own = weights.slice(i * n, (i + 1) * n);
      const made = button(feature.name, () => {
        for (const other of at("map").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === made));
        showFeature(feature, own);
        at("feature").scrollIntoView({ block: "nearest" });
      }, { "aria-pressed": "false" });
      made.append(" ", feature.note ? element("span", { className: "faint" }, feature.note) : "", sign(feature.images[0]));
      return element("tr", {}, element("th", { scope: "row" }, made), ...Array.from(own, cell));
    });
    at("map").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  }

  function cell(weight) {
    const made = element("td", {}), share = Math.round(100 * Math.sqrt(Math.abs(weight) / 127)), ink = weight > 0 ? "var(--for)" : "var(--against)";
    if (weight) made.style.background = `color-mix(in srgb, ${ink} ${share}%, var(--paper))`;
    return made;
  }

  // The words that a feature speaks for and against. weights: its row of the map.
  function showFeature(feature, weights) {
    const shared = data.weights, users = shared.words.map((k, j) => [data.names[k], weights[j]]).filter(([, w]) => w);
    users.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const named = (sign, most) => users.filter(([, w]) => sign * w > 0).map(([name]) => name).slice(0, most).join(", ") || "none";
    at("feature").replaceChildren(
      element("h3", {}, shared.apart ? `${feature.name}: ${users.length} of ${weights.length} ${data.tags} use it` : `${feature.name}: speaks most for ${named(1, 3)}`),
      element("p", {}, `It speaks for: ${named(1)}. It speaks against: ${named(-1)}.`),
      element("h3", {}, `Test ${data.things} with its largest values`),
      element("div", { className: "gallery" }, ...feature.images.map((row) => picture(row, "", feature.place, feature.images)))
    );
  }

  // The photograph on top of the page, and the commands.

  function fillTop() {
    at("wipe")?.addEventListener("input", (event) => {
      const map = document.querySelector(".wipe span");
      map.style.animation = "none";
      map.style.clipPath = `inset(0 ${100 - event.target.value}% 0 0)`;
    });
    const folder = decodeURIComponent(location.pathname).replace(/[^/]*$/, "").replace(/^\/(?=[A-Z]:)/, "");
    if (location.protocol === "file:") at("model").textContent = quoted(`${folder}model.jointsparse`);
    for (const command of document.querySelectorAll(".command")) {
      const [code, copy] = command.children;
      copy.addEventListener("click", async () => {
        getSelection().selectAllChildren(code); // what a reader sees, and copies where the clipboard is closed
        try {
          await navigator.clipboard.writeText(code.textContent);
          copy.textContent = "Copied";
        } catch {
          copy.textContent = "Selected: press Ctrl+C";
        }
      });
    }
  }

  // A path as an argument of a command.
  const quoted = (path) => /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

  fillTop();
  fillControls();
  fillCheck();
  state.word = sorted()[0].word;
  list();
  word();
  map();
  follow();
})();
