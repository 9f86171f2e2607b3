
    for (i = 0; i < ${n_lists}; ++i) {
        if (category_strict[i] && place((double)row[category_columns[i]], i) < 0) return -2;
    }